import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceOrigin } from '../../ports/telemetry/origin.ts';

/** The tenant in which an activity works, from the signed header of its workflow. */
export interface ActivityTenant {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly correlationId: string;
  /** The trace to which its workflow belongs. */
  readonly trace?: TraceOrigin | null;
}

const current = new AsyncLocalStorage<ActivityTenant | null>();

/** Returns the tenant of the running activity. Throws in maintenance, which has none, and outside activities. */
export function tenantOfActivity(): ActivityTenant {
  const tenant = current.getStore();

  if (!tenant) throw new Error('no tenant: not inside an activity of a tenant');
  return tenant;
}

/** Runs `work` in this tenant; null hides any tenant that was set. */
export function asTenant<R>(tenant: ActivityTenant | null, work: () => Promise<R>): Promise<R> {
  return current.run(tenant, work);
}
