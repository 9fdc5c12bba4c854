import { releaseHolds } from '../../billing/holds.ts';
import { lockLedger } from '../../billing/ledger-lock.ts';
import { tokensOfBytes } from '../../billing/tokens.ts';
import { callKey } from '../../billing/call-key.ts';
import type { ModelUsage } from '../../billing/usage.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { endFlight, readInFlight, streamedBytes, type CallInFlight, type StepOfCall } from '../calls/call-in-flight.ts';
import { lockRunWithAncestors } from '../run-state.ts';
import { settleStepUsage } from './step-usage.ts';

/** A try of a step whose worker was lost. */
type LostCall = StepOfCall & { readonly attempt: number };

/** The same, and where it lies. */
export type LostCallOfTenant = LostCall & { readonly organizationId: string; readonly workspaceId: string };

/** How long after the end of its run a call may still settle itself: whoever makes one hears of the end within its heartbeat. */
const graceSeconds = 60;

/**
 * Settles the call of a try whose worker was lost after it had left: its prompt and what was archived of its answer, estimated, at the prices of
 * its start and in the windows in which it was reserved. One that held and never left gives that back. A bill that the try itself still
 * sends, because its worker only stood still, finds it settled. In a transaction of its own, which locks the run; may be repeated.
 */
export async function settleLostCall(tx: TenantTransaction, step: LostCall): Promise<boolean> {
  const locked = await lockRunWithAncestors(tx, step.runId);
  if (!locked) return false;
  const call = await readInFlight(tx, step);
  if (call?.attempt !== step.attempt) await releaseHolds(tx, callKey('run', step.runId, step.step, step.attempt));
  if (call === null) return false;

  const output = tokensOfBytes(await streamedBytes(tx, step.runId, call.messageId));
  const settled = await settleStepUsage(tx, locked, { step: step.step, attempt: call.attempt, usage: usageOf(call, output) });
  await endFlight(tx, { ...step, attempt: call.attempt });
  return settled !== null;
}

/**
 * The same for all calls that runs which have ended still have in flight: their steps are about to go, and who would settle them with these. The caller has
 * locked these runs. Several calls hold several rollups, which others may want in another order: meanwhile nobody else settles in their workspaces.
 */
export async function settleLostCallsOf(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  const lost = await rows<LostCall & { readonly workspaceId: string }>(
    tx.em,
    `select run_id as "runId", step, (in_flight ->> 'attempt')::int as attempt, workspace_id as "workspaceId" from run_steps
      where run_id = any (?::uuid[]) and in_flight is not null order by run_id, step`,
    [[...runIds]],
  );
  for (const workspaceId of [...new Set(lost.map((call) => call.workspaceId))].toSorted()) await lockLedger(tx.em, workspaceId);
  for (const call of lost) await settleLostCall(tx, call);
}

/** All calls of an organization that are still in flight. Sweeper's pool. */
export function lostCallsOfOrganization(tx: Pick<TenantTransaction, 'em'>, organizationId: string): Promise<LostCall[]> {
  return rows(
    tx.em,
    `select run_id as "runId", step, (in_flight ->> 'attempt')::int as attempt from run_steps
      where in_flight is not null and organization_id = ? order by run_id, step`,
    [organizationId],
  );
}

/**
 * Calls that are still in flight though their run has ended a while ago: their workers were lost and no try follows. By run and step, those behind `after`
 * (null: from the start): what can't be settled must not keep the others from being read.
 */
export function lostCallsOfEndedRuns(
  tx: Pick<TenantTransaction, 'em'>,
  { after, limit }: { readonly after: StepOfCall | null; readonly limit: number },
): Promise<LostCallOfTenant[]> {
  return rows(
    tx.em,
    `select s.run_id as "runId", s.step, (s.in_flight ->> 'attempt')::int as attempt, s.organization_id as "organizationId", s.workspace_id as "workspaceId"
       from run_steps s join runs r on r.id = s.run_id
      where s.in_flight is not null and r.finished_at < clock_timestamp() - interval '${graceSeconds} seconds'
        and (?::uuid is null or (s.run_id, s.step) > (?::uuid, ?::int)) order by s.run_id, s.step limit ?`,
    [after?.runId ?? null, after?.runId ?? null, after?.step ?? null, limit],
  );
}

function usageOf(call: CallInFlight, output: number): ModelUsage {
  return {
    model: call.model,
    provider: call.provider,
    providerRequestId: null,
    isFree: call.isFree,
    tokens: { input: call.inputTokens, output, cached_read: 0, cached_write: 0, reasoning: 0 },
    estimated: true,
    currency: call.currency,
    reservedAt: new Date(call.reservedAt),
    prices: call.prices,
  };
}
