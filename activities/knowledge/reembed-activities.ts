import { cancellationSignal } from '@temporalio/activity';
import { buildVectorIndex, dropVectorIndex } from '../../db/knowledge/search/build-vector-index.ts';
import { countChunks, readBasePair } from '../../db/knowledge/runs/base-pair.ts';
import { findKnowledgeRun } from '../../db/knowledge/runs/runs.ts';
import { minIndexedChunks } from '../../db/knowledge/search/vector-index.ts';
import { cutOver, failReembed, undoReembed, verifySample } from '../../domain/knowledge/reembed/ends.ts';
import { embedRange } from '../../domain/knowledge/reembed/range.ts';
import { lockWorkingRun, pauseRun } from '../../domain/knowledge/runs/run-batches.ts';
import { EmbeddingError } from '../../ports/embeddings/errors.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ReembedActivities, ReembedStep } from '../../workflows/contracts/knowledge/reembed.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { embeddingDeps, inTemporalsWords } from './index-activities.ts';

/** An attempt ends long before its timeout, so that its slot serves others too. */
const passMs = 60_000;

/** Activities of `reembedBase`, in the signed tenant of the workflow. */
export function createReembedActivities(deps: ActivityDeps): ReembedActivities {
  return {
    embedRange: ({ runId }) =>
      step(deps, { runId, stage: 'embedding' }, async () => {
        const outcome = await embedRange(embeddingDeps(deps), runId, { signal: cancellationSignal(), untilMs: performance.now() + passMs });
        return { outcome };
      }),
    buildIndex: ({ runId }) => buildIndex(deps, runId),
    verifySample: ({ runId }) =>
      step(deps, { runId, stage: 'verifying' }, async () => {
        await verifySample(embeddingDeps(deps), runId, cancellationSignal());
        return { outcome: 'done' };
      }),
    cutOver: ({ runId }) =>
      step(deps, { runId, stage: 'cut_over' }, async () => {
        const isDone = await transactAsSystem(deps, (tx) => cutOver(tx, runId, deps.db.clock.now()));
        if (isDone) deps.log.info({ knowledge_run_id: runId }, 'knowledge base re-embedded');
        return { outcome: isDone ? 'done' : 'stopped' };
      }),
    compensate: ({ runId }) => compensateReembed(deps, runId),
  };
}

/** Runs a stage; a spent budget pauses the run, and an error that no further try can fix fails it. */
async function step(
  deps: ActivityDeps,
  { runId, stage }: { readonly runId: string; readonly stage: string },
  work: () => Promise<ReembedStep>,
): Promise<ReembedStep> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure && error.code === 'budget_exceeded') return pause(deps, runId);
    const refusal = refusalOf(error);
    if (refusal === null) throw inTemporalsWords(error);
    await transactAsSystem(deps, (tx) => failReembed(tx, runId, { stage, ...refusal }));
    deps.log.warn({ knowledge_run_id: runId, code: refusal.code }, 're-embed failed');
    return { outcome: 'stopped' };
  }
}

function refusalOf(error: unknown) {
  if (error instanceof EmbeddingError && !error.isRetryable)
    return {
      code: error.fault === 'unknown_model' ? 'unknown_embedding_model' : `embedding_${error.fault}`,
      detail: 'The texts could not be embedded.',
    };
  if (!(error instanceof Failure)) return null;
  const { reason, item_id: itemId, chunk_ord: ord } = error.context;
  if (error.retryable && reason !== 'embedding_refused') return null;
  const ids = { ...(typeof itemId === 'string' ? { item_id: itemId } : {}), ...(typeof ord === 'number' ? { chunk_ord: ord } : {}) };
  return { code: typeof reason === 'string' ? reason : error.code, detail: error.detail, ids };
}

async function pause(deps: ActivityDeps, runId: string): Promise<ReembedStep> {
  return transactAsSystem(deps, async (tx) => {
    const run = await lockWorkingRun(tx, runId);
    return run === null ? { outcome: 'stopped' } : { outcome: 'paused', until: await pauseRun(tx, run, deps.db.clock.now()) };
  });
}

async function buildIndex(deps: ActivityDeps, runId: string): Promise<void> {
  const { databaseOwnerUrl: ownerUrl } = deps.env;
  if (ownerUrl === null) return;
  const to = await transactAsSystem(deps, async (tx) => {
    const run = await findKnowledgeRun(tx, runId);
    if (run === null || run.targetKbId === null || run.finishedAt !== null || run.status === 'cancelling') return null;
    const pair = await readBasePair(tx, { fromId: run.kbId, toId: run.targetKbId });
    const isLarge = pair !== null && (await countChunks(tx, pair.from.id)) > minIndexedChunks;
    return isLarge && pair.to.embeddingDim > 0 ? pair.to : null;
  });
  if (to === null) return;
  const built = await buildVectorIndex({ ownerUrl, kbId: to.id, dim: to.embeddingDim, signal: cancellationSignal() });
  deps.log.info({ knowledge_base_id: to.id, built }, 'vector index built');
}

/** Undoes a re-embed in the tenant of the activity. */
export async function compensateReembed(deps: ActivityDeps, runId: string): Promise<void> {
  const { databaseOwnerUrl: ownerUrl } = deps.env;
  const kbId = await transactAsSystem(deps, async (tx) => {
    const run = await findKnowledgeRun(tx, runId);
    return run === null || run.finishedAt !== null || run.cutOverAt !== null ? null : run.targetKbId;
  });
  if (kbId === null) return;
  // Its rows are deleted all the same; the daily maintenance drops an index that is left.
  const dropped = ownerUrl === null ? null : dropVectorIndex({ ownerUrl, kbId, signal: cancellationSignal() });
  await dropped?.catch((err: unknown) => deps.log.error({ err, knowledge_base_id: kbId }, 'vector index not dropped'));
  const isUndone = await undoReembed((work) => transactAsSystem(deps, work), runId);
  if (isUndone) deps.log.warn({ knowledge_run_id: runId }, 're-embed taken back');
}
