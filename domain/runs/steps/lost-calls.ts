import { releaseHolds } from '../../../db/billing/budgets/holds.ts';
import { lockLedger } from '../../../db/billing/ledger/ledger-lock.ts';
import { tokensOfBytes, callKey } from '../../../db/billing/ledger/call-key.ts';
import type { ModelUsage } from '../../../db/billing/ledger/usage.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endFlight, readInFlight, streamedBytes, type CallInFlight } from '../../../db/runs/calls/call-in-flight.ts';
import { lockRunWithAncestors } from '../../../db/runs/run-state.ts';
import { settleStepUsage } from './step-usage.ts';
import { type LostCall, callsInFlightOf } from '../../../db/runs/steps/lost-call-queries.ts';

/**
 * Settles the call of a try whose worker was lost after the call had left: tokens estimated from its prompt and the archived part of its answer, at the prices
 * of its start and in the windows in which it was reserved. Releases the hold of a try whose call never left. When the worker was only frozen and the try still
 * reports its usage, that report finds the call settled. Runs in its own transaction, locks the run, and may be repeated.
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
 * Settles all calls that ended runs still have in flight, because their steps are about to be erased and nothing could settle them afterwards. The caller has
 * locked these runs. Several calls lock several rollups, which other transactions may lock in another order, so no other transaction settles in their
 * workspaces meanwhile (`lockLedger`).
 */
export async function settleLostCallsOf(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  const lost = await callsInFlightOf(tx, runIds);
  for (const workspaceId of [...new Set(lost.map((call) => call.workspaceId))].toSorted()) await lockLedger(tx.em, workspaceId);
  for (const call of lost) await settleLostCall(tx, call);
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
