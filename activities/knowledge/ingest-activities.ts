import { cancellationSignal, Context } from '@temporalio/activity';
import type { IndexedBase } from '../../db/knowledge/items/pending-items.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { embedStaged, pauseIngest, readIngestBase } from '../../domain/knowledge/sources/embed-staged.ts';
import { publishItems } from '../../domain/knowledge/sources/ingest.ts';
import {
  dropStagedItems,
  endFailed,
  giveUpIngest,
  lockIngest,
  type IngestAtWork,
  type Transact,
} from '../../domain/knowledge/sources/ingest-run.ts';
import { EmbeddingError } from '../../ports/embeddings/errors.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type {
  IndexSourceOutcome,
  IngestActivities,
  IngestInput,
  IngestOutcome,
  ParseInput,
} from '../../workflows/contracts/knowledge/ingest.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { keepHeartbeating } from '../support/heartbeat.ts';
import { fetchSource } from './fetch-source.ts';
import { embeddingDeps, inTemporalsWords } from './index-activities.ts';
import { facts, parseSource } from './parse-source.ts';

/** Activities of `ingestSource`, in the signed tenant of the workflow. */
export function createIngestActivities(deps: ActivityDeps): IngestActivities {
  const beating =
    <Input extends IngestInput, Outcome>(work: (input: Input) => Promise<Outcome>) =>
    async (input: Input) => {
      const rest = keepHeartbeating(Context.current());
      try {
        return await work(input);
      } finally {
        rest();
      }
    };
  return {
    fetchSource: beating((input: IngestInput) => fetchSource(deps, input)),
    parseSource: beating((input: ParseInput) => parseSource(deps, input)),
    indexSource: beating((input: IngestInput) => indexSource(deps, input)),
    publishSource: beating((input: IngestInput) => publishSource(deps, input)),
    failSource: (input) => giveUpIngest((work) => transactAsSystem(deps, work), input),
  };
}

async function indexSource(deps: ActivityDeps, input: IngestInput): Promise<IndexSourceOutcome> {
  const transact: Transact = (work) => transactAsSystem(deps, work);
  const signal = cancellationSignal();
  try {
    for (let after: string | null = null; ;) {
      signal.throwIfAborted();
      const outcome: Awaited<ReturnType<typeof embedStaged>> = await embedStaged(embeddingDeps(deps), input, { after, signal });
      if (outcome === 'done') return 'go_on';
      if (outcome === 'ended') {
        await dropStagedItems(transact, input.runId);
        return 'ended';
      }
      after = outcome.after;
    }
  } catch (error) {
    if (error instanceof Failure && error.code === 'budget_exceeded') {
      const pausedUntil = await pauseIngest(transact, input);
      return pausedUntil === null ? 'ended' : { pausedUntil };
    }
    if (!(error instanceof EmbeddingError) || error.isRetryable) throw inTemporalsWords(error);
    return failIngest(deps, input, `embedding_${error.fault}`);
  }
}

async function failIngest(deps: ActivityDeps, input: IngestInput, code: string): Promise<IngestOutcome> {
  await transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (found) await endFailed(tx, found, { code, stage: 'indexing', detail: 'The embedding model rejected the text.' });
  });
  await dropStagedItems((work) => transactAsSystem(deps, work), input.runId);
  return 'ended';
}

async function publishSource(deps: ActivityDeps, input: IngestInput): Promise<IngestOutcome> {
  const isPublished = await transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found) return null;
    const base = await readIngestBase(tx, found.source.kbId);
    return base !== null && publishOrFail(tx, found, base);
  });
  if (isPublished === false) await dropStagedItems((work) => transactAsSystem(deps, work), input.runId);
  deps.log.info({ source_id: input.sourceId, published: isPublished }, 'source ingested');
  return 'ended';
}

async function publishOrFail(tx: TenantTransaction, found: IngestAtWork, base: IndexedBase): Promise<boolean> {
  const isPublished = await publishItems(tx, found, { base, published: facts(found.run) });
  if (!isPublished)
    await endFailed(tx, found, { code: 'resource_frozen', stage: 'indexing', detail: 'The base was changed or frozen in the meantime.' });
  return isPublished;
}
