import { newId } from '../../db/ids.ts';
import { reserve } from '../../db/billing/budgets/holds.ts';
import { callKey } from '../../db/billing/ledger/call-key.ts';
import { settleModelCall, type SettledCall } from '../../db/billing/ledger/usage.ts';
import { rollWindows } from '../../db/billing/budgets/windows.ts';
import type { Databases } from '../../db/databases.ts';
import { systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

export interface CallPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** A call to a model as a worker makes it, without the model. */
export interface TestCall {
  readonly runId?: string;
  readonly attempt?: number;
  readonly cost: string;
  readonly reservedAt?: Date;
}

/** Runs `work` as a worker of the workspace. */
export async function inWorkspace<R>(db: Databases, place: CallPlace, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const tenant = workspaceTenant(place.organizationId, place.workspaceId);
  return (await transact(db, { tenant, actor: systemActor, correlationId: newId() }, work)).value;
}

/** Writes a call into ledger and windows, by the functions that workers use. Null: it was settled before. */
export function settleCall(
  db: Databases,
  place: CallPlace,
  { runId = newId(), attempt = 1, cost, reservedAt = new Date() }: TestCall,
): Promise<SettledCall | null> {
  const ids = { runId, agentId: newId(), agentRevisionId: newId(), userId: null, serviceKeyId: null };
  const prices = [{ id: newId(), bucket: 'call', price: cost } as const];
  const tokens = { input: 1, cached_read: 0, cached_write: 0, output: 1, reasoning: 0 };
  const usage = {
    model: 'm',
    provider: 'p',
    providerRequestId: null,
    isFree: false,
    tokens,
    estimated: false,
    currency: 'USD',
    reservedAt,
    prices,
  };
  return inWorkspace(db, place, (tx) => settleModelCall(tx, { ...place, ...ids, step: 1, attempt }, usage));
}

/** Reserves a call, settles it and gives what the reservation said. */
export async function makeCall(
  db: Databases,
  place: CallPlace,
  { cost, estimate = cost }: { readonly cost: string; readonly estimate?: string },
) {
  const runId = newId();
  for (;;) {
    const found = await inWorkspace(db, place, (tx) => reserve(tx, { ...place, callKey: callKey('run', runId, 1, 1), caps: [], estimate }));
    if (found.outcome === 'stale') await inWorkspace(db, place, (tx) => rollWindows(tx.em, place.workspaceId));
    if (found.outcome === 'ok') await settleCall(db, place, { runId, cost, reservedAt: found.at });
    if (found.outcome !== 'stale') return found;
  }
}
