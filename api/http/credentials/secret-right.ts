import type { Demand } from './scopes.ts';

/** What setting a secret demands. */
export const putSecretRight = { access: 'admin', audit: 'update', notDelegable: true } as const;

/** The same, as `checkFloor` takes it: for what comes to the same as setting a secret. */
export const putSecretDemand: Demand & typeof putSecretRight = {
  ...putSecretRight,
  operationId: 'putSecret',
  area: 'Organizations & workspaces',
  method: 'PUT',
  path: '/secrets/{name}',
};
