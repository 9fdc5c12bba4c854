import { AsyncLocalStorage } from 'node:async_hooks';

/** In whose name an activity works, from the signed header of its workflow. */
export interface ActivityTenant {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly correlationId: string;
}

const current = new AsyncLocalStorage<ActivityTenant | null>();

/** The tenant of the running activity. Throws in maintenance, which has none, and outside activities. */
export function tenantOfActivity(): ActivityTenant {
  const tenant = current.getStore();

  if (!tenant) throw new Error('no tenant: not inside an activity of a tenant');
  return tenant;
}

/** Runs `work` as this tenant's; null hides whatever tenant there was. */
export function asTenant<R>(tenant: ActivityTenant | null, work: () => Promise<R>): Promise<R> {
  return current.run(tenant, work);
}
