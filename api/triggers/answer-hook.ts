import { readRunRow } from '../../db/runs/read/run-queries.ts';
import { toRunView, type RunRow } from '../../db/runs/read/run-view.ts';
import { transact } from '../../db/transaction.ts';
import type { Hook } from '../../db/webhooks/hooks.ts';
import { countRepeat, keepRefused, warnOfDelivery } from '../../domain/webhooks/deliveries.ts';
import { startDelivery } from '../../domain/webhooks/start-delivery.ts';
import { outcomeFor } from '../../ports/hooks/outcome.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';
import { reply, type Ctx } from '../http/operation/operation.ts';
import { failedOf, statusOf, type TakenHook, type VerifiedHook } from './take-hook.ts';
import type { HookReceipt } from './webhook-delivery.schema.ts';

const maxWaitMs = 25_000;

/** The delivery that is answered: the request's own, or the one that it repeats. */
interface Answered {
  readonly deliveryId: string;
  readonly runId: string | null;
  readonly eventId: string | null;
  readonly isCoalesced: boolean;
  readonly isDuplicate: boolean;
  readonly status: number;
}

/** Answers a request to a hook: a new delivery starts a run in this transaction, a repeat gets the answer of the first. */
export async function answerHook(ctx: Ctx, taken: TakenHook, method: 'POST' | 'GET') {
  if (taken.kind === 'challenge')
    return reply<unknown>(null, { status: 200, text: { contentType: 'text/plain; charset=utf-8', body: taken.challenge } });
  if (taken.kind === 'neutral') {
    const receipt = receiptOf({ deliveryId: taken.deliveryId, runId: null, eventId: null, isCoalesced: false, isDuplicate: false });
    return reply<unknown>(receipt, { status: statusOf(taken.hook, { method }) });
  }

  const answered = await take(ctx, taken);
  const { hook } = taken;
  if (hook.responseMode !== 'sync' || answered.runId === null) {
    const receipt = receiptOf(hook.responseMode === 'ack' ? { ...answered, runId: null } : answered);
    return reply<unknown>(receipt, { status: answered.status });
  }
  const { runId } = answered;
  // A repeat under an Idempotency-Key gets this while the first still waits.
  return reply<unknown>(receiptOf(answered), {
    ...outlived(runId, method),
    afterCommit: async () => outcomeOf(ctx, { hook, answered, run: await waitForRun(ctx, runId), method }),
  });
}

async function take(ctx: Ctx, { hook, start }: VerifiedHook): Promise<Answered> {
  const outcome = start === null ? null : await startDelivery(ctx, hook, start);
  if (outcome?.kind === 'refused') {
    const { failure } = outcome;
    // A retryable failure leaves nothing behind; its sender retries.
    if (start !== null && !failure.retryable) {
      await ctx.commitNow((tx) => keepRefused(tx, hook, failedOf(start.delivery, failure)));
      ctx.deps.runMetrics.measure({ kind: 'delivery', status: 'failed' });
    }
    throw failure;
  }
  if (outcome?.kind === 'taken') return { ...outcome, isDuplicate: false, status: start?.responseStatus ?? 200 };

  const seen = outcome?.seen ?? (await countRepeat(ctx, hook.seenDeliveryId ?? ''));
  if (!seen) throw fail('service_unavailable', { retryAfterS: 1 }); // it has just been erased
  const { id: deliveryId, runId, eventId, isCoalesced, responseStatus: status } = seen;
  return { deliveryId, runId, eventId, isCoalesced, isDuplicate: true, status };
}

function receiptOf({ deliveryId, runId, eventId, isCoalesced, isDuplicate }: Omit<Answered, 'status'>): HookReceipt {
  return { delivery_id: deliveryId, run_id: runId, event_id: eventId, deduplicated: isDuplicate, coalesced: isCoalesced };
}

/** The reply for a run that continues without its sender; GET answers 200 in every mode. */
function outlived(runId: string, method: 'POST' | 'GET') {
  return method === 'GET' ? { status: 200 } : { status: 202, headers: { location: `/runs/${runId}` } };
}

/** Waits at most 25 s until the run has ended or is waiting for someone; holds no connection. Returns null if it was erased. */
async function waitForRun(ctx: Ctx, runId: string): Promise<RunRow | null> {
  const { deps, tenant, actor, correlationId } = ctx;
  const read = async () => (await transact(deps.db, { tenant, actor, correlationId }, (tx) => readRunRow(tx, runId))).value;
  const end = performance.now() + maxWaitMs;
  let run = await read();
  while (run && !isTerminal(run.status) && run.status !== 'waiting') {
    const timeoutMs = Math.round(end - performance.now());
    if (timeoutMs <= 0) break;
    const hasChanged = await deps.hub.waitForChange(runId, { afterSeq: run.lastSeq, timeoutMs });
    run = await read();
    if (!hasChanged) break;
  }
  return run;
}

interface Outcome {
  readonly hook: Hook;
  readonly answered: Answered;
  readonly run: RunRow | null;
  readonly method: 'POST' | 'GET';
}

async function outcomeOf(ctx: Ctx, { hook, answered, run, method }: Outcome) {
  const receipt = receiptOf(answered);
  if (!run) return reply<unknown>(receipt, { status: 200 });
  if (!isTerminal(run.status)) return reply<unknown>({ ...receipt, run_status: run.status }, outlived(run.id, method));

  if (run.status !== 'succeeded') return reply<unknown>({ ...receipt, run_status: run.status }, { status: 200 });
  const picked = outcomeFor(toRunView(run), hook.responsePath);
  if (hook.responsePath === null) return reply<unknown>({ ...receipt, run_status: run.status, output: picked }, { status: 200 });

  if (picked === undefined) await warnOfPath(ctx, answered.deliveryId);
  return reply<unknown>(picked ?? null, { status: 200 });
}

async function warnOfPath(ctx: Ctx, deliveryId: string): Promise<void> {
  const { deps, tenant, actor, correlationId } = ctx;
  const warning = {
    code: 'missing_value',
    field: 'response_path',
    message: 'response_path finds nothing in the outcome; the sender got null.',
  };
  await transact(deps.db, { tenant, actor, correlationId }, (tx) => warnOfDelivery(tx, deliveryId, warning));
}
