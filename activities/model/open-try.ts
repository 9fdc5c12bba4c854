import { retryNoteOf } from '../../domain/runs/steps/model-steps.ts';
import { identityOf } from '../../db/runs/run-state.ts';
import type { FrameWriter } from '../../domain/streams/emitter.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { stopSuspended } from '../runs/stop-frozen.ts';
import { openAbort, type ActivityAbort } from '../support/abort.ts';
import { runCancelled } from '../support/failures.ts';
import { claimTry, type ClaimedTry } from './claim-try.ts';
import { settleLost } from './usage/lost-call.ts';
import type { ModelTry } from './model-try.ts';

/** A try of a model step that belongs to this attempt: where it writes its frames, and what aborts it. */
export interface OpenTry {
  readonly claimed: ModelTry;
  readonly writer: FrameWriter;
  readonly abort: ActivityAbort;
}

/** The step of a run. `model` is tried before the models that the run has pinned. A try that takes longer than `maxMs` ends as `upstream_timeout`. */
export interface StepToTry {
  readonly runId: string;
  readonly step: number;
  readonly model?: string | null;
  readonly maxMs: number;
}

export type StoredTry = Extract<ClaimedTry, { kind: 'stored' }>;

/**
 * Claims a try of a step and runs `make`, or returns what `stored` makes of the answer that an earlier try has stored. Calls that earlier tries have lost are
 * settled first. Throws as `claimTry` does, and `run_cancelled` for a run that has ended or whose tenant is suspended or archived.
 */
export async function withOpenTry<R>(
  deps: ActivityDeps,
  wanted: StepToTry,
  { make, stored }: { readonly make: (open: OpenTry) => Promise<R>; readonly stored: (before: StoredTry) => R },
): Promise<R> {
  const { runId, step, model = null, maxMs } = wanted;
  const before = await claimTry(deps, runId, step, model);
  if (before.kind === 'frozen' && !(await stopSuspended(deps, runId))) return withOpenTry(deps, wanted, { make, stored });
  if (before.kind === 'frozen' || before.kind === 'ended') throw runCancelled();
  if (before.kind === 'stored') return stored(before);

  const claimed = before.modelTry;
  const { run, attempt, retries } = claimed.opened;
  await settleLost(deps, claimed);
  const writer = deps.emitter.open({ run: identityOf(run), scope: `s${step}`, attempt, retry: retryNoteOf(retries) });
  const abort = openAbort({ runId, cancelBus: deps.cancelBus, signals: [writer.signal] });
  const detail = `The model took more than ${maxMs / 60_000} minutes.`;
  const timer = setTimeout(() => abort.abort('timeout', fail('upstream_timeout', { detail })), maxMs);
  try {
    return await make({ claimed, writer, abort });
  } finally {
    clearTimeout(timer);
    abort.close();
    writer.close();
  }
}
