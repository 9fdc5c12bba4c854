import { cancellationSignal } from '@temporalio/activity';
import type { KnowledgeRun } from '../../db/knowledge/runs/knowledge-run.entity.ts';
import type { KnowledgeRunKind, KnowledgeRunActivities, KnowledgeRunStep } from '../../workflows/contracts/knowledge/runs.ts';
import type { RunError } from '../../db/knowledge/runs/write-runs.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { endGivenUp, endRun, lockRunForBatch, lockWorkingRun, pauseRun } from '../../domain/knowledge/runs/run-batches.ts';
import { EmbeddingError } from '../../ports/embeddings/errors.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { inTemporalsWords } from './index-activities.ts';

/** The outcome of a batch of a run: there is another one, or it was the last, with the result that the run then shows. */
export type BatchOutcome = 'more' | { readonly result: Readonly<Record<string, unknown>> | null };

/** What a batch works with. */
export interface RunBatch {
  /** The run as its batch began: its task, and its progress. Read only. */
  readonly run: Readonly<KnowledgeRun>;
  readonly deps: ActivityDeps;
  /** Aborted when the run is cancelled or Temporal has given up the attempt. */
  readonly signal: AbortSignal;
  /** Runs one transaction with the run locked: its writes are committed together with the cursor that it moves. Throws when the run has ended or is to end. */
  readonly commit: <R>(work: (tx: TenantTransaction, run: KnowledgeRun) => Promise<R>) => Promise<R>;
}

/** Does one batch of a run, of a few seconds at most. It commits only through `commit`, so that a repeat continues after the last commit. */
export type RunWork = (batch: RunBatch) => Promise<BatchOutcome>;

/** The function for each kind of run that `maint:<run>` works on. */
export type RunWorks = Partial<Record<KnowledgeRunKind, RunWork>>;

/** How long an activity runs batches. */
const passMs = 60_000;

/** The run has ended in the meantime, or is to end: what the batch was about to write is not wanted any more. */
class RunStopped extends Error {}

/** Activities of `knowledgeRun`, in the signed tenant of the workflow. */
export function createKnowledgeRunActivities(deps: ActivityDeps, works: RunWorks): KnowledgeRunActivities {
  return {
    async advanceKnowledgeRun({ runId }) {
      const until = performance.now() + passMs;
      for (let step: KnowledgeRunStep = { outcome: 'more' }; ;) {
        step = await advance(deps, works, runId);
        if (step.outcome !== 'more' || performance.now() > until) return step;
      }
    },
    endKnowledgeRun: ({ runId }) => transactAsSystem(deps, (tx) => endGivenUp(tx, runId, deps.db.clock.now())),
  };
}

async function advance(deps: ActivityDeps, works: RunWorks, runId: string): Promise<KnowledgeRunStep> {
  const signal = cancellationSignal();
  signal.throwIfAborted();
  const run = await transactAsSystem(deps, async (tx) => {
    const locked = await lockRunForBatch(tx, runId, deps.db.clock.now());
    await tx.em.flush();
    return locked;
  });
  if (run === null) return { outcome: 'ended' };

  try {
    const work = works[run.kind];
    if (work === undefined) throw new Error(`nothing does runs of kind ${run.kind}`);
    const outcome = await work({ run, deps, signal, commit: (write) => commitBatch(deps, runId, write) });
    if (outcome === 'more') return { outcome };
    await finish(deps, runId, outcome.result);
    return { outcome: 'ended' };
  } catch (error) {
    if (error instanceof RunStopped) return { outcome: 'more' };
    if (error instanceof Failure && error.code === 'budget_exceeded') return pause(deps, runId);
    if (error instanceof Failure && !error.retryable) return giveUp(deps, runId, codeAndDetail(error));
    if (error instanceof EmbeddingError && !error.isRetryable)
      return giveUp(deps, runId, { code: `embedding_${error.fault}`, detail: 'The texts could not be embedded.' });
    throw inTemporalsWords(error);
  }
}

function commitBatch<R>(deps: ActivityDeps, runId: string, write: (tx: TenantTransaction, run: KnowledgeRun) => Promise<R>): Promise<R> {
  return transactAsSystem(deps, async (tx) => {
    const run = await lockWorkingRun(tx, runId);
    if (run === null) throw new RunStopped('the run is over');
    const value = await write(tx, run);
    await tx.em.flush();
    return value;
  });
}

function finish(deps: ActivityDeps, runId: string, result: Readonly<Record<string, unknown>> | null): Promise<void> {
  return commitBatch(deps, runId, (tx, run) =>
    endRun(tx, run, { status: 'succeeded', now: deps.db.clock.now(), ...(result === null ? {} : { result }) }),
  );
}

function pause(deps: ActivityDeps, runId: string): Promise<KnowledgeRunStep> {
  return commitBatch(deps, runId, async (tx, run) => ({ outcome: 'paused', until: await pauseRun(tx, run, deps.db.clock.now()) }));
}

function codeAndDetail({ code, context: { reason }, detail }: Failure): Pick<RunError, 'code' | 'detail'> {
  return { code: typeof reason === 'string' ? reason : code, detail };
}

/** Fails a run whose error no further try can fix. */
async function giveUp(deps: ActivityDeps, runId: string, { code, detail }: Pick<RunError, 'code' | 'detail'>): Promise<KnowledgeRunStep> {
  await commitBatch(deps, runId, (tx, run) =>
    endRun(tx, run, { status: 'failed', now: deps.db.clock.now(), error: { stage: run.progress.stage, code, detail } }),
  );
  deps.log.info({ knowledge_run_id: runId, code }, 'knowledge run failed');
  return { outcome: 'ended' };
}
