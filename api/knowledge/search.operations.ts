import { transact, withAutocommit } from '../../db/transaction.ts';
import type { Scoped } from '../../db/scope.ts';
import { meteredQueries } from '../../domain/knowledge/search/embed-query.ts';
import type { EmbeddingDeps } from '../../domain/knowledge/items/embed-texts.ts';
import { measureSearch } from '../../domain/knowledge/search/measure-search.ts';
import { recordUse } from '../../domain/knowledge/search/record-use.ts';
import { searchBases, type SearchDeps } from '../../domain/knowledge/search/search.ts';
import type { SearchedBase } from '../../db/knowledge/search/search-bases.ts';
import { refuseUnknownSources, searchableBase, searchableBases } from '../../domain/knowledge/bases/searchable-bases.ts';
import type { Static } from 'typebox';
import { closed, idOf } from '../http/input/schema.ts';
import { post, type Ctx } from '../http/operation/operation.ts';
import { KnowledgeSearch, KnowledgeSearchAcross, KnowledgeSearchView, toSearchRequest, toSearchView } from './search.schema.ts';

const fails = ['upstream_failed', 'upstream_timeout', 'budget_exceeded'] as const;

export const knowledgeSearchOperations = {
  searchKnowledgeBase: post(
    '/knowledge-bases/{kb_id}/search',
    {
      summary: 'Search a knowledge base',
      description:
        'Finds passages by words (lexical), by meaning (vector) or by both, fused by rank, and quotes them verbatim from the current content. degraded lists each leg that did not cover the whole base; mode vector has no fallback and is refused instead. 409 for a base that a re-embed is still building.',
      access: 'viewer',
      mcp: true,
      fails: ['state_conflict', ...fails],
      audit: 'none',
      transaction: 'none',
      params: closed({ kb_id: idOf('KnowledgeBase') }),
      body: KnowledgeSearch,
      view: KnowledgeSearchView,
      example: { body: { query: 'How long may a refund take?', top_k: 5, filters: { kinds: ['document', 'qa'] } } },
    },
    async (ctx, { params, body }) => searched(ctx, body, async (tx) => [await searchableBase(tx, params.kb_id)]),
  ),

  searchKnowledge: post(
    '/knowledge/search',
    {
      summary: 'Search several knowledge bases',
      description:
        'Searches every base that the caller can read, or those named in kb_ids. Each base is ranked separately with its own embedding model, and the results are interleaved by rank. Callers who can read more than 200 bases must name the ones to search. Superseded bases and bases being built are not searched.',
      access: 'viewer',
      mcp: true,
      fails,
      audit: 'none',
      transaction: 'none',
      body: KnowledgeSearchAcross,
      view: KnowledgeSearchView,
      example: { body: { query: 'Which port does the worker listen on?', mode: 'lexical' } },
    },
    async (ctx, { body }) => searched(ctx, body, (tx) => searchableBases(tx, body.kb_ids)),
  ),
};

/** What embedding takes of a request: each transaction is its own, and what it lets out is sent after it. */
function embeddingDepsOf({ deps, tenant, actor, correlationId }: Ctx): EmbeddingDeps {
  const { billingCurrency: currency, unpricedModel: unpriced } = deps.env;
  return {
    embedder: deps.embedder,
    currency,
    unpriced,
    transact: async (work) => {
      const { value, outgoing } = await transact(deps.db, { tenant, actor, correlationId }, work);
      await deps.dispatch(outgoing);
      return value;
    },
  };
}

/** No transaction is open while a model computes the vector: each statement runs in autocommit. */
async function searched(
  ctx: Ctx,
  body: Static<typeof KnowledgeSearch>,
  basesOf: (ctx: Scoped) => Promise<SearchedBase[]>,
): Promise<Static<typeof KnowledgeSearchView>> {
  const { deps, tenant, actor, correlationId, caller, floor } = ctx;
  const alone = { tenant, actor, correlationId };
  const request = toSearchRequest(body, deps.now());
  const result = await withAutocommit(deps.db, alone, async (tx) => {
    const bases = await basesOf({ ...tx, caller, floor });
    await refuseUnknownSources(tx, bases, body.filters?.source_ids);
    const embed = meteredQueries(embeddingDepsOf(ctx), caller);
    const searching = { read: (work) => work(tx), models: deps.embedder, embed, now: deps.now } satisfies SearchDeps;
    return measureSearch(deps.runMetrics.measure, 'caller', () => searchBases(searching, bases, request));
  });
  // The request does not wait for it, and the answer is valid without it.
  const read: SearchDeps['read'] = (work) => withAutocommit(deps.db, alone, work);
  void recordUse(read, result.hits, deps.now()).catch((err: unknown) => deps.log.warn({ err }, 'use of items was not recorded'));
  return toSearchView(result, request);
}
