import { creatorOf } from '../../../db/actor-ref.ts';
import { usableAttachment, unknownAttachment, type UsableAttachment } from '../../attachments/usable-attachment.ts';
import { newId } from '../../../db/ids.ts';
import { applyChange, emptyChange, removeChunks } from '../../../db/knowledge/bases/base-counters.ts';
import { linkToSource, unlinkSource } from '../../../db/knowledge/sources/change-sources.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import type { KnowledgeItemKind } from '../../../workflows/contracts/knowledge/curation.ts';
import { KnowledgeSource } from '../../../db/knowledge/sources/knowledge-source.entity.ts';
import { makeIngestRun } from '../../../db/knowledge/runs/write-runs.ts';
import { lockSource, readSource } from '../../../db/knowledge/sources/sources.ts';
import { detachItems, lockSourceItems, softDelete } from '../../../db/knowledge/sources/staged-items.ts';
import { addOutbox } from '../../../db/outbox.ts';
import { assertActive, type Changing, type Scoped } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { requireBase } from '../bases/base-rights.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { toMetadata } from '../items/item-rules.ts';

/** The origin of a source: exactly one of attachment, address and text. */
export interface NewSource {
  readonly attachmentId?: string;
  readonly url?: string;
  readonly text?: string;
  readonly title?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly tags?: readonly string[];
  readonly kind?: KnowledgeItemKind;
}

/** States in which a run is working on a source. */
const liveStates: readonly KnowledgeSource['state'][] = ['queued', 'fetching', 'parsing', 'indexing'];
/** The number of items of a deleted source that one statement deletes. */
const deletedAtOnce = 1_000;
const extractorName = 'longhaul-1';

/** Names the extractor of a source's parts and the chunk sizes of its items: when the name changes, both are made again. */
export function extractorOf({ chunking }: Pick<ItemBase, 'chunking'>): string {
  return `${extractorName}/${chunking.size_tokens}/${chunking.overlap_tokens}`;
}

/**
 * Creates a source and starts its ingestion.
 * @throws 422 unless exactly one of attachment, url and text is given, and for an attachment that does not resolve; 409 for one that is not ready; 404, 403,
 * 423
 */
export async function createSource(
  ctx: Changing,
  kbId: string,
  { body, currency }: { readonly body: NewSource; readonly currency: string },
): Promise<KnowledgeSource> {
  const base = await requireBase(ctx, kbId, { right: 'write', isLocked: true });
  await assertActive(ctx.em, base);
  refuseFrozenBase(base);
  const source = ctx.em.create(KnowledgeSource, {
    id: newId(),
    kbId: base.id,
    organizationId: base.organizationId,
    workspaceId: base.workspaceId,
    ...(await originOf(ctx, base, body)),
    title: body.title ?? null,
    itemKind: body.kind ?? 'document',
    tags: [...new Set(body.tags ?? [])],
    metadata: toMetadata(body.metadata ?? {}, ''),
    contentHash: null,
    extractor: null,
    error: null,
    runId: null,
    predecessorSourceId: null,
    lastSyncedAt: null,
    deletedAt: null,
    createdBy: creatorOf(ctx.actor),
  });
  ctx.em.persist(source);
  await startIngest(ctx, source, currency);
  await linkToSource(ctx, source);
  return source;
}

async function originOf(ctx: Changing, base: ItemBase, { attachmentId, url, text }: NewSource) {
  const given = [attachmentId, url, text].filter((value) => value !== undefined);
  if (given.length !== 1) throw invalid('', 'oneOf', 'A source must have exactly one of attachment_id, url and text.');
  const none = { uri: null, attachmentId: null, text: null, mediaType: null };
  if (url !== undefined) return { ...none, kind: 'url', uri: checkedUrl(url) } as const;
  if (text !== undefined) return { ...none, kind: 'text', text, mediaType: 'text/markdown' } as const;
  const attachment = await attachmentForBase(ctx, base, attachmentId ?? '');
  return { ...none, kind: 'attachment', attachmentId: attachment.id, mediaType: attachment.mediaType } as const;
}

/**
 * Returns a file that is to become content of a base. A file of another workspace or organization is refused: admins there could read the content that the base
 * protects.
 * @throws 422 `reference`, 409 `attachment_not_ready`
 */
export async function attachmentForBase(
  ctx: Scoped,
  { organizationId, workspaceId }: Pick<ItemBase, 'organizationId' | 'workspaceId'>,
  id: string,
): Promise<UsableAttachment> {
  const attachment = await usableAttachment(ctx, id);
  const isNear = workspaceId === null || attachment.workspaceId === null || attachment.workspaceId === workspaceId;
  if (attachment.organizationId !== organizationId || !isNear) throw unknownAttachment('/attachment_id');
  return attachment;
}

function checkedUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed && ['http:', 'https:'].includes(parsed.protocol) && parsed.username === '' && parsed.password === '') return parsed.href;
  throw invalid('/url', 'format', 'The address must be an absolute http or https URL without user information.');
}

/**
 * Reads a source again. Starts nothing when its bytes are known to equal those of the last sync: files and texts never change, while a page has to be fetched.
 * @throws 409 `run_in_progress` while a run works on it; 404, 403, 423
 */
export async function syncSource(ctx: Changing, sourceId: string, currency: string): Promise<KnowledgeSource> {
  const { base, source } = await seeSourceForChange(ctx, sourceId);
  if (liveStates.includes(source.state)) throw runInProgress(source);
  const isUnchanged = source.kind !== 'url' && source.state === 'ready' && source.extractor === extractorOf(base);
  if (!isUnchanged) await startIngest(ctx, source, currency);
  return source;
}

/** Deletes a source that no run works on, and its items with it unless `keepItems` is set. Throws 409 `run_in_progress`; 404, 403, 423. */
export async function deleteSource(
  ctx: Changing,
  sourceId: string,
  { keepItems, now }: { readonly keepItems: boolean; readonly now: Date },
): Promise<KnowledgeSource> {
  const { base, source } = await seeSourceForChange(ctx, sourceId, { openWhenSuspended: true });
  if (liveStates.includes(source.state)) throw runInProgress(source);
  source.deletedAt = now;
  source.text = null;
  await ctx.em.flush();
  await unlinkSource(ctx, source.id);
  if (keepItems) await detachItems(ctx, source.id);
  else await deleteItems(ctx, base, source.id);
  return source;
}

async function deleteItems(tx: TenantTransaction, base: ItemBase, sourceId: string): Promise<void> {
  const changes = emptyChange();
  for (;;) {
    const items = await lockSourceItems(tx, sourceId, deletedAtOnce);
    if (items.length === 0) break;
    const ids = items.map(({ id }) => id);
    await removeChunks(tx, ids, changes);
    await softDelete(tx, ids);
    for (const { state } of items) changes.states[state] -= 1;
  }
  await applyChange(tx, base, changes);
}

async function seeSourceForChange(
  ctx: Changing,
  sourceId: string,
  { openWhenSuspended = false }: { readonly openWhenSuspended?: boolean } = {},
): Promise<{ readonly base: ItemBase; readonly source: KnowledgeSource }> {
  const { kbId } = await readSource(ctx, sourceId);
  const base = await requireBase(ctx, kbId, { right: 'write', isLocked: true });
  if (!openWhenSuspended) await assertActive(ctx.em, base);
  refuseFrozenBase(base);
  const source = await lockSource(ctx, sourceId);
  if (source === null) throw fail('not_found');
  return { base, source };
}

/** Creates the run of a source and starts its workflow after the commit. */
async function startIngest(ctx: Changing, source: KnowledgeSource, currency: string): Promise<void> {
  const { organizationId, workspaceId } = source;
  if (organizationId === null) throw fail('resource_forbidden', { detail: 'Platform bases have no sources.' });
  const run = makeIngestRun(ctx, source, { currency, requestedBy: creatorOf(ctx.actor) });
  Object.assign(source, { state: 'queued', error: null, runId: run.id, syncNo: source.syncNo + 1 });
  await ctx.em.flush();
  await startIngestWorkflow(ctx, { sourceId: source.id, syncNo: source.syncNo, runId: run.id, organizationId, workspaceId });
}

/** An ingestion whose workflow is to be started. */
export interface IngestToStart {
  readonly sourceId: string;
  readonly syncNo: number;
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Starts `ingest:<source>:<n>` after the commit. `occasion` names a start after the first one, for a workflow that was lost. */
export async function startIngestWorkflow(
  tx: TenantTransaction,
  { sourceId, syncNo, runId, organizationId, workspaceId }: IngestToStart,
  occasion?: string,
): Promise<void> {
  const workflowId = workflowIds.ingest(sourceId, syncNo);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'ingestSource',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ sourceId, runId }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 5,
      searchAttributes: { SourceId: sourceId },
    },
    { dedupeKey: occasion === undefined ? workflowId : `${workflowId}:${occasion}` },
  );
}

function runInProgress({ runId }: KnowledgeSource): Error {
  return fail('state_conflict', { reason: 'run_in_progress', detail: 'A run is working on the source.', context: { run_id: runId } });
}
