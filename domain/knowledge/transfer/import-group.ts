import { createHash } from 'node:crypto';
import { writeAudit } from '../../../db/audit/audit.ts';
import { derivedId } from '../../../db/ids.ts';
import {
  countImported,
  hasGrant,
  hasPrincipal,
  importedBase,
  insertImportedSource,
  linkSuccessors,
  presentItems,
  sameSource,
} from '../../../db/knowledge/runs/import-rows.ts';
import { listSameItems } from '../../../db/knowledge/items/insert-items.ts';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { KnowledgeGrant } from '../../../db/knowledge/bases/knowledge-grant.entity.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { insertRelation, lockEnds } from '../../../db/knowledge/items/write-relations.ts';
import { addRunErrors, type RunError } from '../../../db/knowledge/runs/write-runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { contentHash } from '../../../ports/content-hash.ts';
import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import type { BundleGrant, BundleItem, BundleRelation, BundleSource } from './bundle-rows.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { importItems, type ImportRules, type PreparedItem } from './import-items.ts';
import type { Indexer } from '../items/index-plan.ts';
import { countOnRun, moveOn } from '../runs/run-batches.ts';
import { distinct, toMetadata } from '../items/item-rules.ts';

/** A row of a bundle and its position. */
export interface Placed<Row> {
  readonly row: Row;
  readonly line: number;
  readonly offset: number;
}

/** What an import knows of the preceding rows: the base's ids for those of the bundle, the items that it has created, and which items succeed which. */
export interface ImportMemory {
  readonly itemIds: Map<string, string>;
  readonly sourceIds: Map<string, string>;
  readonly own: Set<string>;
  readonly successors: (readonly [string, string])[];
}

export function emptyMemory(): ImportMemory {
  return { itemIds: new Map(), sourceIds: new Map(), own: new Set(), successors: [] };
}

/** The id of the row that a run creates for a line: always the same. */
export function idOfLine({ id, createdAt }: Pick<KnowledgeRun, 'id' | 'createdAt'>, line: number): string {
  const seed = createHash('sha256').update(`${id}:${line}`).digest().subarray(0, 16);
  return derivedId({ at: new Date(createdAt), seq: line, seed });
}

/** Rows that are written together, by type. */
export interface ImportGroup {
  readonly sources: readonly Placed<BundleSource>[];
  readonly items: readonly (Placed<BundleItem> & { readonly prepared: PreparedItem })[];
  readonly relations: readonly Placed<BundleRelation>[];
  readonly grants: readonly Placed<BundleGrant>[];
}

export interface ImportWork {
  readonly run: Pick<KnowledgeRun, 'id' | 'createdAt'>;
  readonly base: ItemBase;
  readonly rules: ImportRules;
  readonly includeGrants: boolean;
  readonly indexer: Indexer;
  readonly memory: ImportMemory;
}

/** The outcome of a group. Its changes of the memory count once its transaction has committed. */
export interface GroupResult {
  readonly counts: Record<string, number>;
  readonly errors: RunError[];
}

/** Writes a group of rows in the caller's transaction; a faulty row becomes an error, and the others are written. */
async function writeGroup(tx: TenantTransaction, work: ImportWork, group: ImportGroup): Promise<GroupResult> {
  const result: GroupResult = { counts: {}, errors: [] };
  for (const source of group.sources) await writeSource(tx, work, { placed: source, result });
  await writeItems(tx, work, { items: group.items, result });
  await writeRelations(tx, work, { relations: group.relations, result });
  for (const grant of group.grants) await writeGrant(tx, work, { placed: grant, result });
  return result;
}

function count({ counts }: GroupResult, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Returns the error of a faulty row. */
export function rowError({ line, offset }: Pick<Placed<unknown>, 'line' | 'offset'>, code: string, detail: string): RunError {
  return { stage: 'rows', code, detail, ids: { line, offset } };
}

async function writeSource(
  tx: TenantTransaction,
  work: ImportWork,
  { placed, result }: { readonly placed: Placed<BundleSource>; readonly result: GroupResult },
): Promise<void> {
  const { row, line } = placed;
  const { run, base, rules, memory } = work;
  const keys = { kind: row.kind, uri: row.uri ?? null, title: row.title ?? null, contentHash: row.content_hash ?? null };
  const same = rules.mode === 'upsert' ? await sameSource(tx, base.id, keys) : null;
  const id = same ?? idOfLine(run, line);
  try {
    const metadata = toMetadata(row.metadata ?? {}, '');
    const rest = {
      text: row.text ?? null,
      itemKind: row.item_kind ?? 'document',
      tags: distinct(row.tags ?? []),
      metadata,
      mediaType: row.media_type ?? null,
    };
    if (same === null && !rules.isDryRun) await insertImportedSource(tx, base, { id, ...keys, ...rest, createdBy: rules.createdBy });
    memory.sourceIds.set(row.id, id);
    count(result, same === null ? 'sources_created' : 'sources_existing');
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'validation_failed') throw error;
    result.errors.push(rowError(placed, 'bad_field', error.detail));
  }
}

async function writeItems(
  tx: TenantTransaction,
  work: ImportWork,
  { items, result }: { readonly items: ImportGroup['items']; readonly result: GroupResult },
): Promise<void> {
  if (items.length === 0) return;
  const { base, rules, indexer, memory } = work;
  const imported = await importItems(tx, base, { prepared: items.map(({ prepared }) => prepared), rules, indexer, own: memory.own });
  for (const [at, { outcome, itemId, detail }] of imported.entries()) {
    const placed = items[at];
    if (placed === undefined) continue;
    rememberItem(memory, placed.row, itemId);
    if (outcome === 'already_exists' || outcome === 'bad_field') result.errors.push(rowError(placed, outcome, detail));
    else count(result, outcome);
    if (outcome === 'created' && 'hasVectors' in placed.prepared && placed.prepared.hasVectors) count(result, 'with_vectors');
  }
}

function rememberItem({ itemIds, successors }: ImportMemory, row: BundleItem, itemId: string | null): void {
  if (row.id !== undefined && itemId !== null) itemIds.set(row.id, itemId);
  else if (row.id !== undefined) itemIds.delete(row.id);
  if (itemId !== null && row.curation_state === 'superseded' && typeof row.superseded_by_id === 'string')
    successors.push([itemId, row.superseded_by_id]);
}

async function writeRelations(
  tx: TenantTransaction,
  { base, rules, memory }: ImportWork,
  { relations, result }: { readonly relations: ImportGroup['relations']; readonly result: GroupResult },
): Promise<void> {
  const ends = relations.map(({ row }) => [memory.itemIds.get(row.from_item_id), memory.itemIds.get(row.to_item_id)] as const);
  const ids = ends.flat().filter((id) => id !== undefined);
  const live = rules.isDryRun ? new Set(ids) : new Set(await lockEnds(tx, base.id, [...new Set(ids)]));
  for (const [at, placed] of relations.entries()) {
    const [from, to] = ends[at] ?? [];
    if (from === undefined || to === undefined || from === to || !live.has(from) || !live.has(to)) {
      result.errors.push(rowError(placed, 'reference', 'One end of the relation is not an item of the bundle that was imported.'));
      continue;
    }
    const { relation: type, note = null } = placed.row;
    const place = { kbId: base.id, organizationId: base.organizationId, workspaceId: base.workspaceId };
    const made = rules.isDryRun
      ? true
      : await insertRelation(tx, { ...place, fromItemId: from, toItemId: to, type, note, createdBy: rules.createdBy });
    count(result, made === null ? 'relations_existing' : 'relations_created');
  }
}

async function writeGrant(
  tx: TenantTransaction,
  { base, rules, includeGrants }: ImportWork,
  { placed, result }: { readonly placed: Placed<BundleGrant>; readonly result: GroupResult },
): Promise<void> {
  if (!includeGrants || base.organizationId === null) return count(result, 'grants_left_out');
  const { principal_kind: principalKind, principal_id: principalId = null, role = null, access, expires_at: expiresAt = null } = placed.row;
  const isRole = principalKind === 'role';
  const isWhole = isRole ? role !== null && principalId === null : role === null && principalId !== null;
  const exists =
    isRole || (principalId !== null && (await hasPrincipal(tx, principalKind, { id: principalId, organizationId: base.organizationId })));
  if (!isWhole || !exists) return void result.errors.push(rowError(placed, 'reference', 'The principal of the grant does not exist here.'));
  if (await hasGrant(tx, base.id, { principalKind, principalId, role })) return count(result, 'grants_existing');
  const end = expiresAt === null ? null : new Date(expiresAt);
  const place = { kbId: base.id, organizationId: base.organizationId, workspaceId: base.workspaceId };
  if (!rules.isDryRun)
    tx.em.persist(
      tx.em.create(KnowledgeGrant, {
        ...place,
        principalKind,
        principalId,
        role,
        access,
        expiresAt: end,
        createdByUserId: rules.createdBy.kind === 'user' ? rules.createdBy.id : null,
      }),
    );
  await tx.em.flush();
  count(result, 'grants_created');
}

/** Restores the memory of rows that a killed try has written: by the ids that it assigned, else by equal rows. */
export async function relearn(
  tx: TenantTransaction,
  { run, base, memory, rules }: ImportWork,
  { sources, items }: { readonly sources: readonly Placed<BundleSource>[]; readonly items: readonly Placed<BundleItem>[] },
): Promise<void> {
  for (const { row, line } of sources) {
    const keys = { kind: row.kind, uri: row.uri ?? null, title: row.title ?? null, contentHash: row.content_hash ?? null };
    memory.sourceIds.set(row.id, (rules.mode === 'upsert' ? await sameSource(tx, base.id, keys) : null) ?? idOfLine(run, line));
  }
  const present = await presentItems(
    tx,
    items.map(({ line }) => idOfLine(run, line)),
  );
  const others = items.filter(({ line }) => !present.has(idOfLine(run, line)));
  const hashes = others.map(({ row }) => contentHash(row.content));
  const externalIds = others.flatMap(({ row }) => (typeof row.external_id === 'string' ? [row.external_id] : []));
  const same = others.length === 0 ? [] : await listSameItems(tx, base.id, { hashes, externalIds });
  for (const { row, line } of items) {
    const own = idOfLine(run, line);
    if (present.has(own)) memory.own.add(own);
    const byKey = same.find(({ externalId }) => externalId !== null && externalId === row.external_id);
    const found = byKey ?? same.find((item) => item.contentHash === contentHash(row.content));
    rememberItem(memory, row, present.has(own) ? own : (found?.id ?? null));
  }
}

/** Returns the base that an import writes to, in its current state. Throws 404. */
export async function readImportBase(tx: TenantTransaction, kbId: string): Promise<ItemBase> {
  return (await importedBase(tx, kbId, { isLocked: false })) ?? refuseLostBase();
}

function refuseLostBase(): never {
  throw fail('not_found', { detail: 'The knowledge base has been deleted.' });
}

/** How far an import is. */
export interface ImportCursor {
  readonly stage: 'check' | 'rows' | 'done';
  /** The last line whose row has been written or is an error. */
  readonly line: number;
  readonly total: number;
}

/** Lines that are written together: their rows, and the errors of others. `line`: the last of these lines. */
export interface ImportStep {
  readonly group: ImportGroup;
  readonly errors: readonly RunError[];
  readonly line: number;
  readonly total: number;
}

/** Writes a group with its errors for a locked run. Throws 404 and 423 when the base was deleted or frozen meanwhile. */
export async function landGroup(
  tx: TenantTransaction,
  run: KnowledgeRun,
  { work, step }: { readonly work: ImportWork; readonly step: ImportStep },
): Promise<void> {
  const { group, line, total } = step;
  const current = (await importedBase(tx, work.base.id, { isLocked: true })) ?? refuseLostBase();
  refuseFrozenBase(current);
  const { counts, errors } = await writeGroup(tx, { ...work, base: current }, group);
  const all = [...step.errors, ...errors].toSorted((left, right) => (left.ids?.line ?? 0) - (right.ids?.line ?? 0));
  await addRunErrors(tx, run, all);
  countOnRun(run, { ...counts, failed: all.length });
  moveOn(run, { stage: 'rows', done: line - 1, total: total - 1, cursor: { stage: 'rows', line, total } });
}

/** Links superseded items to their successors, where both have been written. */
export async function landSuccessors(tx: TenantTransaction, kbId: string, pairs: readonly (readonly [string, string])[]): Promise<void> {
  await linkSuccessors(tx, kbId, pairs);
}

/** Ends the rows stage of a locked run: counts the sources, and writes an audit entry. */
export async function endRows(
  tx: TenantTransaction,
  run: KnowledgeRun,
  { base, memory }: Pick<ImportWork, 'base' | 'memory'>,
): Promise<void> {
  await countImported(tx, [...memory.sourceIds.values()]);
  moveOn(run, { stage: 'done', done: run.progress.done, total: run.progress.total, cursor: { stage: 'done', line: 0, total: 0 } });
  const { id, organizationId, workspaceId } = base;
  const changes = { run_id: { to: run.id }, dry_run: { to: run.dryRun }, counts: { to: run.counts } };
  const note = { resourceType: 'knowledge_base', resourceId: id, organizationId, workspaceId, changes };
  await writeAudit(tx, { action: 'submit', operationId: null, note, ip: null, userAgent: null });
}
