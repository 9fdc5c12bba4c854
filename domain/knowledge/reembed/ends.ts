import { followedTime } from '../../../db/database-clock.ts';
import { LockMode } from '@mikro-orm/core';
import { fromHalfvec } from '../../../db/knowledge/items/embedding-cache.ts';
import { KnowledgeBase } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { hasPendingItems, payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { readBasePair, sampleChunks } from '../../../db/knowledge/runs/base-pair.ts';
import {
  compareBases,
  countFilledBase,
  deleteBuiltBase,
  deleteBuiltItems,
  moveGrantsAndPolicy,
  repointSuccessors,
  type Coverage,
} from '../../../db/knowledge/runs/reembed-ends.ts';
import { writeAudit } from '../../../db/audit/audit.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { lockKnowledgeRun } from '../../../db/knowledge/runs/runs.ts';
import type { RunError } from '../../../db/knowledge/runs/write-runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { embedTexts, type EmbeddingDeps } from '../items/embed-texts.ts';
import { embeddedText } from '../items/index-item.ts';
import { requestSync } from '../bases/policies.ts';
import { requestIndex } from '../items/request-index.ts';
import { endRun, lockWorkingRun } from '../runs/run-batches.ts';

type Transacting = EmbeddingDeps['transact'];

const sampled = 200;
const minCosine = 0.999;
/** The number of items of an abandoned base that one transaction deletes. */
const deletedAtOnce = 256;

/**
 * Embeds some chunks of the new base again and compares the vectors with the stored ones. Throws 409 `sample_mismatch` when one differs: it was made from
 * another text, or the model has changed. Texts in the cache are not embedded again.
 */
export async function verifySample(deps: EmbeddingDeps, runId: string, signal: AbortSignal): Promise<void> {
  const found = await deps.transact(async (tx) => {
    const run = await lockWorkingRun(tx, runId);
    if (run === null || run.targetKbId === null) return null;
    const pair = await readBasePair(tx, { fromId: run.kbId, toId: run.targetKbId });
    if (pair === null || pair.to.embeddingDim === 0) return null;
    return { to: pair.to, chunks: await sampleChunks(tx, pair.to.id, sampled), workspaceId: await payingWorkspace(tx, pair.to) };
  });
  if (found === null || found.chunks.length === 0) return;
  const vectors = await embedTexts(deps, {
    model: found.to.embeddingModel,
    kind: 'document',
    texts: found.chunks.map(embeddedText),
    source: { kind: 'maintenance', id: runId },
    step: 'sample',
    organizationId: found.to.organizationId ?? '',
    workspaceId: found.workspaceId ?? '',
    signal,
  });
  const strange = found.chunks.filter(({ embedding }, at) => cosine(fromHalfvec(embedding), vectors[at] ?? new Float32Array()) < minCosine);
  if (strange.length > 0)
    throw fail('state_conflict', {
      reason: 'sample_mismatch',
      detail: `${strange.length} of ${vectors.length} vectors do not match their texts.`,
    });
}

function cosine(left: Float32Array, right: Float32Array): number {
  let [dot, ofLeft, ofRight] = [0, 0, 0];
  for (const [at, value] of left.entries()) {
    const other = right[at] ?? 0;
    dot += value * other;
    ofLeft += value * value;
    ofRight += other * other;
  }
  return ofLeft === 0 || ofRight === 0 ? 0 : dot / Math.sqrt(ofLeft * ofRight);
}

/**
 * Replaces the old base by the new one, in one transaction: grants and policy move to it with their ids, every base of the chain names it as successor, and
 * lists and searches show it. Returns false when the run has ended without a cut-over, or is being cancelled. Throws 409 `copy_mismatch` when the two bases are
 * not equal.
 */
export async function cutOver(tx: TenantTransaction, runId: string, now: Date): Promise<boolean> {
  const run = await lockWorkingRun(tx, runId);
  if (run === null || run.targetKbId === null) return run === null ? isCutOver(tx, runId) : false;
  const ids = { fromId: run.kbId, toId: run.targetKbId };
  const bases = await tx.em.find(
    KnowledgeBase,
    { id: { $in: [ids.fromId, ids.toId] }, deletedAt: null },
    { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true, orderBy: { id: 'asc' } },
  );
  const from = bases.find(({ id }) => id === ids.fromId);
  const to = bases.find(({ id }) => id === ids.toId);
  if (from === undefined || to === undefined)
    throw fail('state_conflict', { reason: 'copy_mismatch', detail: 'One of the bases no longer exists.' });
  const coverage = await compareBases(tx, ids, { model: to.embeddingModel, dim: to.embeddingDim });
  refuseMismatch(coverage, { needsVectors: to.embeddingDim > 0 && !(await readPolicy(tx, from.id)).allowMissingEmbeddings });

  const hasPolicy = await moveGrantsAndPolicy(tx, ids);
  if (hasPolicy)
    for (const { id, organizationId, workspaceId } of bases)
      await requestSync(tx, { id, organizationId, workspaceId }, `cut-over:${runId}`);
  await repointSuccessors(tx, ids);
  from.successorId = to.id;
  const { name, kind, isPrivate, chunking, retrieval, lastConsolidatedAt } = from;
  Object.assign(to, { name, kind, isPrivate, chunking, retrieval, lastConsolidatedAt, activatedAt: now, isFrozen: false });
  await tx.em.flush();
  await countFilledBase(tx, to.id);
  run.cutOverAt = now;
  const { items, chunks, vectors, relations } = coverage;
  await endRun(tx, run, { status: 'succeeded', now, result: { items, chunks, vectors, relations } });
  await audit(tx, { from, to });
  return true;
}

async function isCutOver(tx: TenantTransaction, runId: string): Promise<boolean> {
  const run = await lockKnowledgeRun(tx, runId);
  return run !== null && run.cutOverAt !== null;
}

function refuseMismatch(found: Coverage, { needsVectors }: { readonly needsVectors: boolean }): void {
  const wrong = [
    ...(found.items === found.newItems && found.items === found.equalItems && found.pending === 0 ? [] : ['items']),
    ...(found.chunks === found.newChunks && found.chunks === found.equalChunks ? [] : ['chunks']),
    ...(found.relations === found.newRelations && found.relations === found.equalRelations ? [] : ['relations']),
    ...(found.strangeVectors === 0 && (!needsVectors || found.vectors === found.newChunks) ? [] : ['vectors']),
  ];
  if (wrong.length > 0)
    throw fail('state_conflict', {
      reason: 'copy_mismatch',
      detail: `The new base does not contain everything that the old one contains: ${wrong.join(', ')}.`,
    });
}

async function audit(tx: TenantTransaction, { from, to }: { readonly from: KnowledgeBase; readonly to: KnowledgeBase }): Promise<void> {
  const { organizationId, workspaceId } = from;
  const changes = { successor_id: { from: null, to: to.id } };
  const note = { resourceType: 'knowledge_base', resourceId: from.id, label: from.name, organizationId, workspaceId, changes };
  await writeAudit(tx, { action: 'update', operationId: null, note, ip: null, userAgent: null });
}

/** Records why a re-embed fails; its rows are then to be removed. A run that has ended stays as it is. */
export async function failReembed(tx: TenantTransaction, runId: string, error: RunError): Promise<void> {
  const run = await lockWorkingRun(tx, runId);
  if (run === null) return;
  run.params = { ...run.params, failure: error };
  run.status = 'cancelling';
  await tx.em.flush();
}

/**
 * Removes, in batches, the rows of a re-embed that did not cut over, and thaws the old base. Does nothing when the run has ended. May be repeated by any worker
 * at any time. Returns whether this ended the run.
 */
export async function undoReembed(transact: Transacting, runId: string): Promise<boolean> {
  const kbId = await transact((tx) => beginUndo(tx, runId));
  if (kbId === null) return false;
  while ((await transact((tx) => deleteBuiltItems(tx, kbId, deletedAtOnce))) > 0);
  return transact((tx) => endUndo(tx, runId, followedTime(tx.em)));
}

async function beginUndo(tx: TenantTransaction, runId: string): Promise<string | null> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null || run.cutOverAt !== null) return null;
  if (run.status !== 'cancelling') {
    const detail = 'The work was interrupted too often, or a service that it needs is unavailable.';
    run.params = { ...run.params, failure: { stage: run.progress.stage, code: 'interrupted', detail } };
    run.status = 'cancelling';
  }
  run.progress = { ...run.progress, stage: 'compensating' };
  await tx.em.flush();
  return run.targetKbId;
}

async function endUndo(tx: TenantTransaction, runId: string, now: Date): Promise<boolean> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null || run.targetKbId === null) return false;
  const from = await tx.em.findOne(KnowledgeBase, { id: run.kbId }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
  await deleteBuiltItems(tx, run.targetKbId, deletedAtOnce);
  await deleteBuiltBase(tx, run.targetKbId);
  if (from !== null) from.isFrozen = false;
  const failure = failureOf(run);
  await endRun(tx, run, failure === null ? { status: 'cancelled', now } : { status: 'failed', now, error: failure });
  await resumeIndex(tx, from);
  return true;
}

function failureOf({ params }: KnowledgeRun): RunError | null {
  const { failure } = params;
  return failure === undefined ? null : (failure as RunError); // as failReembed and beginUndo wrote it
}

/** Requests the indexing of the old base that was suspended while the re-embed read it. */
async function resumeIndex(tx: TenantTransaction, base: KnowledgeBase | null): Promise<void> {
  if (base === null || base.organizationId === null || !(await hasPendingItems(tx, base.id))) return;
  await requestIndex(tx, { id: base.id, organizationId: base.organizationId, workspaceId: base.workspaceId }, `thawed:${base.version}`);
}
