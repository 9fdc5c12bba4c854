import { withAutocommit, workspaceTenant, type TransactionOptions } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** Runs one transaction of a run's activity in its signed tenant, as the run; its frames and outbox rows are sent after the commit. */
export async function transactAsRun<R>(deps: ActivityDeps, runId: string, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  return transactAndSend(deps, asRun(runId), work);
}

/** Does the same with autocommit: one round trip, and locks that last no longer than it. It must produce no frames or outbox rows. */
export async function autocommitAsRun<R>(deps: ActivityDeps, runId: string, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  return withAutocommit(deps.db, asRun(runId), work);
}

function asRun(runId: string): TransactionOptions {
  const { organizationId, workspaceId, correlationId } = tenantOfActivity();
  if (workspaceId === null) throw new Error('a run has a workspace');
  return {
    tenant: workspaceTenant(organizationId, workspaceId),
    actor: { kind: 'agent_run', id: runId, role: null, actingUserId: null, impersonationId: null },
    correlationId,
  };
}
