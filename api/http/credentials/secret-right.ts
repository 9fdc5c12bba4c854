import type { Demand } from './scopes.ts';

/** What setting a secret demands. */
export const putSecretRight = { access: 'admin', audit: 'update', notDelegable: true } as const;

/** The same in the form that `checkFloor` takes, for operations that amount to setting a secret. */
export const putSecretDemand: Demand & typeof putSecretRight = {
  ...putSecretRight,
  operationId: 'putSecret',
  area: 'Organizations & workspaces',
  method: 'PUT',
  path: '/secrets/{name}',
};
