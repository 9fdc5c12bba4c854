import { area } from '../http/operation/operation.ts';
import { impersonationOperations } from './impersonations.operations.ts';
import { modelPriceOperations } from './model-prices.operations.ts';
import { oauthClientOperations } from './oauth-clients.operations.ts';
import { operatorOrganizationOperations } from './organizations.operations.ts';

/** What only operators of the deployment do: absent from the public reference, present in the served document. */
export const operator = area('Operator', {
  ...operatorOrganizationOperations,
  ...impersonationOperations,
  ...modelPriceOperations,
  ...oauthClientOperations,
});
