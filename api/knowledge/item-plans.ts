import { deadlineIn } from '../../ports/deadline.ts';
import { requireBase, requireBaseOfItem } from '../../domain/knowledge/bases/base-rights.ts';
import { readItem } from '../../db/knowledge/items/items.ts';
import type { Scoped } from '../../db/scope.ts';
import { openReadOnly, systemActor, tenantOf } from '../../db/transaction.ts';
import { planIndex, type IndexPlan, type Indexer } from '../../domain/knowledge/items/index-plan.ts';
import type { Deps } from '../http/operation/deps.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import type { KnowledgeItemCreateBody, KnowledgeItemsCreateBody, KnowledgeItemUpdateBody } from './item.schema.ts';

/** The maximum time for the vectors of one request; items without vectors by then are only searched lexically until the workflow has created them. */
const maxEmbeddingMs = 5_000;

/** What indexes the items of one request. */
export function indexerOf({ embedder }: Pick<Deps, 'embedder'>): Indexer {
  return { embedder, signal: deadlineIn(maxEmbeddingMs) };
}

/** Indexes a new item before the transaction. Throws 404 and 403 of its base. */
export async function planCreate(request: IdentifyRequest<KnowledgeItemCreateBody, unknown, { kb_id: string }>): Promise<IndexPlan> {
  const base = await requireBase(scopedOf(request), request.params.kb_id, { right: 'write' });
  return planIndex(base, documentOf(request.body), indexerOf(request.deps));
}

/** The same for a batch, one item after the other, so that requests of others are served between. */
export async function planBatch(request: IdentifyRequest<KnowledgeItemsCreateBody, unknown, { kb_id: string }>): Promise<IndexPlan[]> {
  const base = await requireBase(scopedOf(request), request.params.kb_id, { right: 'write' });
  const indexer = indexerOf(request.deps);
  const plans: IndexPlan[] = [];
  for (const item of request.body.items) plans.push(await planIndex(base, documentOf(item), indexer));
  return plans;
}

/** Indexes an item as a change will leave it; null where neither content nor title change. Throws 404 and 403. */
export async function planUpdate(
  request: IdentifyRequest<KnowledgeItemUpdateBody, unknown, { item_id: string }>,
): Promise<IndexPlan | null> {
  const { body, params, deps } = request;
  if (body.content === undefined && body.title === undefined) return null;
  const scope = scopedOf(request);
  const base = await requireBaseOfItem(scope, params.item_id, { right: 'write' });
  const item = await readItem(scope, params.item_id);
  const title = body.title === undefined ? item.title : body.title;
  const text = body.content === undefined ? { content: item.content, pages: item.pages } : { content: body.content };
  return planIndex(base, { ...text, title }, indexerOf(deps));
}

function documentOf({ content, title }: { readonly content: string; readonly title?: string | null }) {
  return { content, title: title ?? null };
}

function scopedOf({ deps, caller, floor, correlationId }: Pick<IdentifyRequest, 'deps' | 'caller' | 'floor' | 'correlationId'>): Scoped {
  const { tx } = openReadOnly(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  return { ...tx, caller, floor };
}
