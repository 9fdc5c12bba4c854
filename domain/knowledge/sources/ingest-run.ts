import { followedTime } from '../../../db/database-clock.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import type { KnowledgeSource, KnowledgeSourceError } from '../../../db/knowledge/sources/knowledge-source.entity.ts';
import { lockKnowledgeRun } from '../../../db/knowledge/runs/runs.ts';
import { lockSource } from '../../../db/knowledge/sources/sources.ts';
import { dropStaged } from '../../../db/knowledge/sources/staged-items.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { IngestInput } from '../../../workflows/contracts/knowledge/ingest.ts';
import { endRun } from '../runs/run-batches.ts';

/** A run that is working on a source, both locked. */
export interface IngestAtWork {
  readonly source: KnowledgeSource;
  readonly run: KnowledgeRun;
}

/** Why an ingestion failed. */
export type IngestError = Pick<KnowledgeSourceError, 'code' | 'stage' | 'detail'>;

const deletedAtOnce = 1_000;

/** Runs work in a transaction of the tenant. */
export type Transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;

/** Locks source and run of an ingestion; null when it has ended already. Throws 409 `cancelling` while it is being cancelled. */
export async function lockIngest(tx: TenantTransaction, input: IngestInput): Promise<IngestAtWork | null> {
  const found = await lockEndingIngest(tx, input);
  if (found?.run.status === 'cancelling') throw fail('state_conflict', { reason: 'cancelling', detail: 'The run is being cancelled.' });
  return found;
}

/** The same, for the code that ends it. */
async function lockEndingIngest(tx: TenantTransaction, { sourceId, runId }: IngestInput): Promise<IngestAtWork | null> {
  const source = await lockSource(tx, sourceId);
  const run = await lockKnowledgeRun(tx, runId);
  if (source === null || run === null || source.runId !== runId || run.finishedAt !== null) return null;
  return { source, run };
}

/** Records the stage of an ingestion. */
export function setStage(tx: TenantTransaction, { source, run }: IngestAtWork, state: 'fetching' | 'parsing' | 'indexing'): void {
  source.state = state;
  run.startedAt ??= followedTime(tx.em);
  Object.assign(run, { status: 'running', pausedReason: null, pausedAt: null, progress: { stage: state, done: 0, total: null } });
}

/** Ends an ingestion whose source is ready with the items counted in its row. `result`: see `endRun`. */
export async function endRead(tx: TenantTransaction, { source, run }: IngestAtWork, result?: { readonly unchanged: true }): Promise<void> {
  const now = followedTime(tx.em);
  Object.assign(source, { state: 'ready', error: null, lastSyncedAt: now });
  run.progress = { stage: 'ready', done: source.itemCount, total: source.itemCount };
  await endRun(tx, run, { status: 'succeeded', now, ...(result && { result }) });
}

/** Ends an ingestion as failed; the items of the last sync stay. The caller drops the staged items. */
export async function endFailed(tx: TenantTransaction, { source, run }: IngestAtWork, { code, stage, detail }: IngestError): Promise<void> {
  failSource(source, { code, stage, detail });
  await endRun(tx, run, { status: 'failed', now: followedTime(tx.em), error: { stage, code, detail, ids: { source_id: source.id } } });
}

/** Ends a cancelled ingestion; the items of the last sync stay. */
export async function endCancelled(tx: TenantTransaction, { source, run }: IngestAtWork): Promise<void> {
  failSource(source, { code: 'cancelled', stage: source.state, detail: 'The run was cancelled.' });
  await endRun(tx, run, { status: 'cancelled', now: followedTime(tx.em) });
}

function failSource(source: KnowledgeSource, error: IngestError): void {
  Object.assign(source, { state: 'failed', error: { ...error, detail: error.detail.slice(0, 500), item_id: null, chunk_ord: null } });
}

/** Ends an ingestion whose work was cancelled or given up, and drops its staged items; an ingestion that has ended stays as it is. */
export async function giveUpIngest(transact: Transact, input: IngestInput): Promise<void> {
  await transact(async (tx) => {
    const found = await lockEndingIngest(tx, input);
    const detail = 'The work was interrupted too often, or a service that it needs is unavailable.';
    if (found?.run.status === 'cancelling') await endCancelled(tx, found);
    else if (found) await endFailed(tx, found, { code: 'interrupted', stage: found.source.state, detail });
  });
  await dropStagedItems(transact, input.runId);
}

/** Drops the staged items of a run, a thousand per transaction, so that a try starts from scratch. */
export async function dropStagedItems(transact: Transact, runId: string): Promise<void> {
  while ((await transact((tx) => dropStaged(tx, runId, deletedAtOnce))) === deletedAtOnce);
}
