import { expect } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { words } from './knowledge-world.ts';

/** What a re-embed is made of and shows, in a stack with API and bulk worker. */
export interface ReembedWorld {
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** A request as the tenant's service key; throws what is not a success. */
  asked<T>(method: string, path: string, body?: unknown): Promise<T>;
  makeBase(model: string, extra?: Readonly<Record<string, unknown>>): Promise<string>;
  addItems(kbId: string, items: readonly Readonly<Record<string, unknown>>[]): Promise<string[]>;
  /** Starts one and gives the reply as it is. */
  reembed(kbId: string, model: string): Promise<Reply>;
  run(runId: string): Promise<RunView>;
  /** Waits until a run has ended. */
  ended(runId: string): Promise<RunView>;
  /** What a search gives, by what its hits quote. */
  search(kbId: string, query: string, more?: Readonly<Record<string, unknown>>): Promise<Hit[]>;
}

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly id: string; readonly context?: Record<string, unknown> };
  readonly runId: string;
  readonly headers: Headers;
}

export interface RunView {
  readonly id: string;
  readonly status: string;
  readonly paused_reason: string | null;
  readonly target_kb_id: string;
  readonly cut_over_at: string | null;
  readonly progress: { readonly stage: string; readonly done: number; readonly total: number | null };
  readonly errors: readonly { readonly code: string; readonly item_id: string | null }[];
  readonly result: Record<string, number> | null;
  readonly cost: { readonly estimate: string; readonly spent: string };
}

interface HitView {
  readonly quote: string;
  readonly title: string | null;
  readonly char_start: number;
  readonly score: number;
  readonly score_parts: Parts;
}

interface Parts {
  readonly lexical: number | null;
  readonly vector: number | null;
}

/** A hit without ids. */
export interface Hit extends Pick<HitView, 'quote' | 'title' | 'score'> {
  readonly start: number;
  readonly parts: Parts;
}

export const freeSlug = () => `base-${Math.random().toString(36).slice(2)}`;

export function reembedWorld(stack: Stack): ReembedWorld {
  const sql = <T>(text: string, params: readonly unknown[] = []): Promise<T[]> => sweep(stack.db, (em) => rows<T>(em, text, params));
  async function asked<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await stack.request(method, path, body === undefined ? {} : { body });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }
  const run = (runId: string) => asked<RunView>('GET', `/knowledge-maintenance-runs/${runId}`);

  return {
    sql,
    asked,
    run,
    makeBase: async (model, extra = {}) =>
      (
        await asked<{ id: string }>('POST', '/knowledge-bases', {
          ...{ slug: freeSlug(), name: 'Base', embedding_model: model, scope: 'workspace', ...extra },
        })
      ).id,
    async addItems(kbId, items) {
      const ids: string[] = [];
      for (let at = 0; at < items.length; at += 500) {
        const batch = await asked<{ outcomes: { item_id: string }[] }>('POST', `/knowledge-bases/${kbId}/items/batch`, {
          items: items.slice(at, at + 500),
        });
        ids.push(...batch.outcomes.map(({ item_id: id }) => id));
      }
      return ids;
    },
    async reembed(kbId, model) {
      const reply = await stack.request('POST', `/knowledge-bases/${kbId}/reembed`, { body: { slug: freeSlug(), embedding_model: model } });
      return { ...reply, runId: reply.headers.get('x-run-id') ?? '' };
    },
    async ended(runId) {
      await until(async () => ['succeeded', 'failed', 'cancelled'].includes((await run(runId)).status));
      return run(runId);
    },
    async search(kbId, query, more = {}) {
      const found = await asked<{ hits: HitView[] }>('POST', `/knowledge-bases/${kbId}/search`, { query, top_k: 20, ...more });
      return found.hits.map(({ quote, title, char_start: start, score, score_parts: parts }) => ({ quote, title, start, score, parts }));
    },
  };
}

/** A re-embed by its run and the base that it fills. */
export interface StartedReembed {
  readonly runId: string;
  readonly target: string;
}

/** Starts a re-embed, and gives its ids before its answer. */
export async function startedReembed(world: ReembedWorld, kbId: string, model: string): Promise<StartedReembed> {
  void world.reembed(kbId, model).catch(() => undefined);
  return runOf(world, kbId);
}

/** The newest re-embed of a base, as soon as there is one. */
export async function runOf(world: ReembedWorld, kbId: string): Promise<StartedReembed> {
  const made = `select id, target_kb_id from knowledge_runs where kb_id = ? and kind = 'reembed' order by id desc limit 1`;
  let found: { id: string; target_kb_id: string } | undefined;
  await until(async () => {
    [found] = await world.sql<{ id: string; target_kb_id: string }>(made, [kbId]);
    return found !== undefined;
  });
  if (found === undefined) throw new Error('no run');
  return { runId: found.id, target: found.target_kb_id };
}

/** Items, some of several chunks, whose texts no other base has, with a relation and one that is superseded. */
export async function mixedBase(world: ReembedWorld, count = 12): Promise<string> {
  const kbId = await world.makeBase('none', { chunking: { size_tokens: 64, overlap_tokens: 0 } });
  const seed = newId().slice(-8);
  const ids = await world.addItems(
    kbId,
    Array.from({ length: count }, (_, at) => ({ content: words(`w${seed}${at}x`, at % 4 === 0 ? 20 : 2), title: `Item ${at}` })),
  );
  const [first = '', second = '', third = ''] = ids;
  await world.asked('POST', `/knowledge-items/${first}/relations`, { to_item_id: second, type: 'supports' });
  await world.asked('POST', `/knowledge-items/${third}/curate`, { curation_state: 'superseded', superseded_by_id: second });
  return kbId;
}

/** What a re-embed by a paid model must have come to: `before` is the picture of the base, `inputs` gives all texts that were sent since. */
export async function expectCopied(
  world: ReembedWorld,
  { kbId, before, inputs }: { readonly kbId: string; readonly before: unknown; readonly inputs: () => readonly string[] },
  { runId, target }: StartedReembed,
): Promise<void> {
  expect(await world.ended(runId)).toMatchObject({ status: 'succeeded' });
  expect(await pictureOf(world, target)).toEqual(before);
  const [found] = await world.sql<{ chunks: number; vectors: number; is_frozen: boolean; successor_id: string }>(
    `select (select count(*)::int from knowledge_chunks where kb_id = ?) as chunks, (select count(*)::int from knowledge_vectors where kb_id = ?) as vectors,
            is_frozen, successor_id from knowledge_bases where id = ?`,
    [target, target, kbId],
  );
  expect(found).toEqual({ chunks: found?.chunks, vectors: found?.chunks, is_frozen: true, successor_id: target });
  const sent = inputs();
  expect(sent.length).toBeLessThanOrEqual((found?.chunks ?? 0) + 256);
  const ledger = await world.sql<{ call_key: string; input_tokens: string }>(
    'select call_key, input_tokens from usage_entries where source_id = ?',
    [runId],
  );
  expect(new Set(ledger.map(({ call_key: key }) => key)).size).toBe(ledger.length);
  const distinct = [...new Set(sent)].reduce((sum, text) => sum + text.split(' ').length, 0);
  expect(ledger.reduce((sum, entry) => sum + Number(entry.input_tokens), 0)).toBe(distinct);
}

/** Everything that a base holds, without ids and times of its own. Equal for a base and its copy. */
export async function pictureOf({ sql }: Pick<ReembedWorld, 'sql'>, kbId: string) {
  const items = await sql(
    `select i.content, i.title, i.external_id, i.kind, i.tags, i.metadata, i.fact, i.evidence, i.valid_from, i.valid_until, i.observed_at, i.origin, i.trust,
            i.curation_state, i.version, i.created_at, (select s.content from knowledge_items s where s.id = i.superseded_by_id) as successor,
            (select s.title from knowledge_sources s where s.id = i.source_id and s.kb_id = i.kb_id) as source,
            array(select c.ord || ':' || c.char_start || ':' || c.char_end || ':' || coalesce(c.page, 0) || ':' || coalesce(c.context, '') || ':' || c.content_hash from knowledge_chunks c where c.item_id = i.id order by c.ord) as chunks,
            array(select r.type || ':' || t.content from knowledge_relations r join knowledge_items t on t.id = r.to_item_id where r.from_item_id = i.id order by 1) as relations
       from knowledge_items i where i.kb_id = ? and i.deleted_at is null and i.staged_run_id is null order by i.content, i.created_at`,
    [kbId],
  );
  const [numbers] = await sql(
    `select pending, reviewed, promoted, superseded, retired, chunks, tokens, lex_len from knowledge_base_counters where kb_id = ?`,
    [kbId],
  );
  const terms = await sql(`select lexeme, df from knowledge_terms where kb_id = ? order by lexeme`, [kbId]);
  const sources = await sql(
    `select s.kind, s.title, s.text, s.content_hash, s.state, s.item_count, (select count(*)::int from attachment_links l where l.owner_id = s.id) as links
       from knowledge_sources s where s.kb_id = ? and s.deleted_at is null order by s.title`,
    [kbId],
  );
  return { items, numbers, terms, sources };
}

/** Rows of a base that must not be there when it is gone. */
export async function leftOf({ sql }: Pick<ReembedWorld, 'sql'>, kbId: string): Promise<Record<string, number>> {
  const tables = [
    'bases',
    'base_counters',
    'items',
    'item_versions',
    'chunks',
    'vectors',
    'terms',
    'relations',
    'sources',
    'grants',
    'policies',
  ];
  const counted = await Promise.all(
    tables.map((name) =>
      sql<{ n: number }>(`select count(*)::int as n from knowledge_${name} where ${name === 'bases' ? 'id' : 'kb_id'} = ?`, [kbId]),
    ),
  );
  return Object.fromEntries(tables.flatMap((name, at) => (counted[at]?.[0]?.n ? [[name, counted[at][0].n]] : [])));
}
