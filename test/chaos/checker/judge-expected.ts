import { parseFrame } from '../../../db/streams/frame-text.ts';
import type { Kind, Slugs } from '../load/kinds.ts';
import type { CallFact, Evidence, Fault, RunFact } from './evidence.ts';

const modelCauses = ['upstream_error', 'rate_limited', 'timeout'];

/** Every run ended as one of its kind may: no fault of the surroundings is a reason to fail, unless it came as often as tries last. */
export function judgeExpected(evidence: Evidence): Fault[] {
  const byId = new Map(evidence.runs.map((run) => [run.id, run]));
  return evidence.client.starts.flatMap(({ runId, kind }) => {
    const run = runId === null ? undefined : byId.get(runId);
    if (!run || isExpected(evidence, run, kind as Kind)) return []; // starts of the load are of its kinds
    return [`${run.id}: one of kind ${kind} ended ${run.status}, ${run.finish_reason}, ${JSON.stringify(run.error)}`];
  });
}

function isExpected(evidence: Evidence, run: RunFact, kind: Kind): boolean {
  const isAsked = evidence.client.cancels.some((cancel) => cancel.runId === run.id);
  if (isAsked) return run.status === 'cancelled' && run.finish_reason === 'cancelled';
  if (kind === 'killer') return run.status === 'failed' && run.error?.reason === 'worker_lost';
  // One that nobody lets pass ends at its cap; whoever rejects its question ends it there too.
  if (kind === 'capped' && run.status === 'failed' && run.finish_reason === 'budget_exceeded') return true;
  if (kind === 'capped' && run.status === 'succeeded')
    return evidence.approvals.some((one) => one.run_id === run.id && one.status === 'approved');
  if (kind === 'superseded' && run.status === 'cancelled') return run.finish_reason === 'superseded';
  // A cancel may have been taken whose answer never came.
  if (kind === 'cancelled' && run.status === 'cancelled') return true;
  return run.status === 'succeeded' || isWornOut(evidence, run);
}

/**
 * A step that lost its worker three times, or that its model failed as often as it is asked, gives its run up. Only a worker that ended is lost:
 * no run fails because its worker was frozen.
 */
export function isWornOut({ archives, steps, workersEnded }: Pick<Evidence, 'archives' | 'steps' | 'workersEnded'>, run: RunFact): boolean {
  if (run.status !== 'failed') return false;
  const told = (archives.get(run.id) ?? [])
    .map(parseFrame)
    .flatMap((frame) => (frame.type === 'run.status' && frame.data.retry ? [frame.data.retry.cause] : []));
  const retries = steps.filter((step) => step.run_id === run.id).map((step) => step.retries.map((retry) => retry.cause));
  const most = (causes: readonly string[]) => Math.max(0, ...retries.map((of) => of.filter((cause) => causes.includes(cause)).length));
  if (run.error?.reason === 'worker_lost' && workersEnded < 3) return false;
  if (run.error?.reason === 'worker_lost') return most(['worker_lost']) >= 2 || told.filter((cause) => cause === 'worker_lost').length >= 2;
  return run.error?.code.startsWith('upstream_') === true && most(modelCauses) >= 3;
}

/** Results that no fault explains: a call succeeds, is cut off by its run's end or the loss of its worker, or ends as its tool is made to. */
export function judgeResults({ calls, runs }: Evidence, slugs: Slugs): Fault[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  return calls.flatMap((call) => {
    const run = byId.get(call.run_id);
    if (call.state === 'succeeded' || (run && isExplained(call, run, slugs))) return [];
    return [`${call.run_id}: call ${call.id} of ${call.slug} is ${call.state}: ${JSON.stringify(call.error)}`];
  });
}

function isExplained(call: CallFact, run: RunFact, slugs: Slugs): boolean {
  const isGiven = ['unknown', 'cancelled'].includes(call.state) && run.status !== 'succeeded';
  if (isGiven || call.error?.code === 'outcome_unknown' || call.error?.reason === 'worker_lost') return true;
  switch (call.state) {
    case 'denied':
      return call.gate !== null || call.slug === slugs.ask;
    case 'timed_out':
      // Its time goes on while all is frozen; that it happened once is judged elsewhere.
      return call.slug === slugs.hang || call.effect === 'read' || call.is_idempotent || call.client_owned;
    case 'failed':
      return call.client_owned || call.child_run_id !== null || call.gate !== null;
    default:
      return false;
  }
}
