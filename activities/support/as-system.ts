import { organizationTenant, openReadOnly, systemActor, transact, workspaceTenant, type TransactionOptions } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ActivityDeps } from '../deps.ts';
import { tenantOfActivity } from './tenant.ts';

type Sending = Pick<ActivityDeps, 'db' | 'dispatch'>;

/** Runs one transaction; its frames and outbox rows are sent after the commit. */
export async function transactAndSend<R>(
  { db, dispatch }: Sending,
  options: TransactionOptions,
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<R> {
  const { value, outgoing } = await transact(db, options, work);
  await dispatch(outgoing);
  return value;
}

/** Runs one transaction in the signed tenant of the activity, as the system. */
export function transactAsSystem<R>(deps: Sending, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  return transactAndSend(deps, systemOptions(), work);
}

/** Runs statements that only read, in the same tenant: no transaction is begun or committed for them. */
export function readAsSystem<R>({ db }: Pick<ActivityDeps, 'db'>, read: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  return read(openReadOnly(db, systemOptions()).tx);
}

function systemOptions(): TransactionOptions {
  const { organizationId, workspaceId, correlationId } = tenantOfActivity();
  const tenant = workspaceId === null ? organizationTenant(organizationId) : workspaceTenant(organizationId, workspaceId);
  return { tenant, actor: systemActor, correlationId };
}
