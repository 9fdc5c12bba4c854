import { sql } from 'kysely';
import type { Page, PageRequest } from '../../page.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeRelationType } from './knowledge-relation.entity.ts';

export const relationDirections = ['in', 'out', 'both'] as const;
export type RelationDirection = (typeof relationDirections)[number];

export interface RelationWalk {
  readonly direction: RelationDirection;
  readonly type?: KnowledgeRelationType;
  /** Maximum number of relations between the item and the farthest one, 1-3. */
  readonly depth: number;
}

/** A relation with its distance from the start of the walk. */
export type WalkedRelation = Awaited<ReturnType<typeof listStep>>[number] & { readonly depth: number };

const maxNodes = 200;

/** Returns the relations around a live item, nearest first, at most 200. All items along the way are live. */
export async function walkRelations(tx: Pick<TenantTransaction, 'em'>, itemId: string, walk: RelationWalk): Promise<WalkedRelation[]> {
  const found = new Map<string, WalkedRelation>();
  const reached = new Set([itemId]);
  let frontier = [itemId];
  for (let depth = 1; depth <= walk.depth && frontier.length > 0 && found.size < maxNodes; depth += 1) {
    const step = await listStep(tx, { ...walk, frontier, known: [...found.keys()], limit: maxNodes - found.size });
    for (const relation of step) found.set(relation.id, { ...relation, depth });
    const next = new Set(step.flatMap(({ fromItemId, toItemId }) => [fromItemId, toItemId]).filter((id) => !reached.has(id)));
    for (const id of next) reached.add(id);
    frontier = [...next];
  }
  return [...found.values()];
}

/** Returns a slice of a walk; walks are short enough to be repeated in full for each page. */
export function pageOfWalk(walked: readonly WalkedRelation[], { limit, offset, after }: PageRequest): Page<WalkedRelation> {
  const rest = after === null ? walked : walked.filter((relation) => isBehind(relation, after));
  const from = offset ?? 0;
  const items = rest.slice(from, from + limit);
  const last = items.at(-1);
  const hasMore = rest.length > from + limit;
  return {
    items,
    next: hasMore && offset === null && last ? [String(last.depth), last.id] : null,
    total: offset === null ? null : walked.length,
  };
}

function isBehind({ depth, id }: WalkedRelation, [depthText, afterId = '']: readonly string[]): boolean {
  return depth === Number(depthText) ? id > afterId : depth > Number(depthText);
}

interface Step extends Pick<RelationWalk, 'direction' | 'type'> {
  readonly frontier: readonly string[];
  readonly known: readonly string[];
  readonly limit: number;
}

function listStep(tx: Pick<TenantTransaction, 'em'>, { direction, type, frontier, known, limit }: Step) {
  const from = sql<boolean>`r.from_item_id = any(${frontier}::uuid[])`;
  const to = sql<boolean>`r.to_item_id = any(${frontier}::uuid[])`;
  let relations = query
    .selectFrom('knowledge_relations as r')
    .innerJoin('knowledge_live_items as f', 'f.id', 'r.fromItemId')
    .innerJoin('knowledge_live_items as t', 't.id', 'r.toItemId')
    .select(['r.id', 'r.kbId', 'r.fromItemId', 'r.toItemId', 'r.type', 'r.note', 'r.createdAt'])
    .where(({ or }) => (direction === 'out' ? from : direction === 'in' ? to : or([from, to])))
    .where(sql<boolean>`r.id <> all(${known}::uuid[])`);
  if (type) relations = relations.where('r.type', '=', type);
  return rows(tx.em, relations.orderBy('r.id').limit(limit));
}

/** Returns a relation with its ends; null when the tenant sees none. */
export function findRelation(tx: Pick<TenantTransaction, 'em'>, relationId: string) {
  return row(
    tx.em,
    query.selectFrom('knowledge_relations as r').select(['r.id', 'r.fromItemId', 'r.toItemId', 'r.type']).where('r.id', '=', relationId),
  );
}
