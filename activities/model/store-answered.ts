import { storeModelStep } from '../../domain/runs/steps/store-step.ts';
import type { FrameWriter } from '../../domain/streams/emitter.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from '../runs/as-run.ts';
import { fenced, runCancelled } from '../support/failures.ts';
import type { ModelStepResult } from '../../db/runs/steps/stored-step.ts';

/** A step that was answered, the writer of its frames, and what else to store with it. */
export interface Answered {
  readonly result: ModelStepResult;
  readonly writer: FrameWriter;
  readonly keep?: (tx: TenantTransaction) => Promise<unknown>;
}

/**
 * Stores a model step with its frames in one transaction. Refusals are thrown in the workflow's terms. A fenced try ends silently, since its successor writes
 * the frames.
 */
export async function storeAnswered(deps: ActivityDeps, { result, writer, keep }: Answered): Promise<void> {
  const stored = await transactAsRun(deps, result.runId, async (tx) => {
    const outcome = await storeModelStep(tx, result, async (frames) => {
      const answer = await writer.appendInside(tx, frames);
      if (answer.result === 'ended') throw runCancelled();
      if (answer.result !== 'ok') throw fenced();
    });
    if (outcome === 'stored') await keep?.(tx);
    return outcome;
  });
  if (stored === 'ended') throw runCancelled();
  if (stored === 'fenced') throw fenced();
}
