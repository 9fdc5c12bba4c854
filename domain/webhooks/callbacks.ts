import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { emitEvent } from '../../db/triggers/events.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  callbackWaitOf,
  claimCallback,
  readCallbackFacts,
  resendCallbacks,
  stopCallbacks,
  storeCallbackTry,
  type CallbackFacts,
  type DueCallback,
} from '../../db/webhooks/callbacks.ts';
import { callbackRetries, judgeTry, type TryOutcome } from '../deliveries/retries.ts';

/** A callback whose next try is due and counted; or how long it still waits; or that it is over. `facts` null: its endpoint or its run no longer exists. */
export type CallbackClaim =
  | { readonly state: 'due'; readonly callback: DueCallback; readonly facts: CallbackFacts | null }
  | { readonly state: 'waiting'; readonly waitMs: number }
  | { readonly state: 'over' };

/** The state of a callback after a try. */
export type CallbackVerdict =
  | { readonly status: 'delivered' | 'failed' | 'stopped'; readonly delayMs: null }
  | { readonly status: 'pending'; readonly delayMs: number };

const gone = 410;

/** Claims the next try of a callback. */
export async function claimNextTry(tx: TenantTransaction, callbackId: string): Promise<CallbackClaim> {
  const callback = await claimCallback(tx, callbackId);
  if (!callback) {
    const waitMs = await callbackWaitOf(tx, callbackId);
    return waitMs === null ? { state: 'over' } : { state: 'waiting', waitMs };
  }
  const facts = await readCallbackFacts(tx, callback);
  return { state: 'due', callback, facts: facts === null || facts.isDeleted || facts.isStopped ? null : facts };
}

/** Judges a try: 2xx delivers, 410 stops, everything else is tried again while the table of retries lasts. `random` lies in [0, 1). */
export function verdictOfCallback(
  outcome: TryOutcome,
  { attempts, random }: { readonly attempts: number; readonly random: number },
): CallbackVerdict {
  if (outcome.status === gone || outcome.result === 'refused') return { status: 'stopped', delayMs: null };
  const verdict = judgeTry(outcome, { attempts, table: callbackRetries, random });
  if (verdict.status === 'failed') return { status: 'pending', delayMs: verdict.delayMs };
  return { status: verdict.status === 'sent' ? 'delivered' : 'failed', delayMs: null };
}

/** The outcome of an HTTP answer to a callback: 2xx accepts it, 410 wants no more, and everything else may be temporary. */
export function outcomeOfCallback(status: number, retryAfterS: number | null): TryOutcome {
  if (status >= 200 && status < 300) return { result: 'taken', status, error: null, retryAfterS: null };
  return {
    result: status === gone ? 'refused' : 'failed',
    status,
    error: `HTTP ${status}`,
    retryAfterS: status === gone ? null : retryAfterS,
  };
}

/** Stores a try and its verdict, unless a later try has overtaken it. After a 410 nothing else is sent; the failure of the last try emits an event. */
export async function settleCallback(
  tx: TenantTransaction,
  callback: DueCallback,
  { outcome, verdict, at }: { readonly outcome: TryOutcome; readonly verdict: CallbackVerdict; readonly at: Date },
): Promise<void> {
  const { id, organizationId, workspaceId, endpointId, runId, deliveryId } = callback;
  const { status, delayMs } = verdict;
  const isStored = await storeCallbackTry(tx, callback, { status, lastStatus: outcome.status, lastError: outcome.error, delayMs });
  if (!isStored) return;
  if (outcome.status === gone) await stopCallbacks(tx, endpointId);
  if (status !== 'failed') return;
  await emitEvent(tx, {
    organizationId,
    workspaceId,
    eventKind: 'webhook.callback_failed',
    source: 'platform',
    payload: { callback_id: id, endpoint_id: endpointId, run_id: runId, delivery_id: deliveryId },
    occurredAt: at,
    causeRunId: runId,
  });
}

/** Restarts callbacks whose workflows Temporal may have lost; returns how many. Uses the sweeper's pool. */
export function restartLostCallbacks(em: SqlEntityManager): Promise<number> {
  return resendCallbacks(em);
}
