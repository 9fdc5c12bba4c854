import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { Stack } from './stack.ts';
import { until } from './temporal.ts';

/** A run of knowledge as its view shows it. */
export interface KnowledgeRunShown {
  readonly id: string;
  readonly status: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly errors: readonly { readonly code: string; readonly line: number | null; readonly offset: number | null }[];
  readonly error_count: number;
  readonly attachment_id: string | null;
  readonly progress: { readonly stage: string; readonly done: number; readonly total: number | null };
}

/** What tests of durable work on bases ask of a deployment. */
export interface KnowledgeCalls {
  /** The body of a success. Throws for another status. */
  asked<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Rows of all tenants. */
  sql<T>(text: string, params: readonly unknown[]): Promise<T[]>;
  makeBase(extra?: Readonly<Record<string, unknown>>): Promise<{ readonly id: string; readonly slug: string }>;
  addItems(kbId: string, items: readonly unknown[]): Promise<string[]>;
  /** The run that a path starts, when it has ended. */
  ran(path: string, body: unknown): Promise<KnowledgeRunShown>;
  endOf(runId: string): Promise<KnowledgeRunShown>;
  upload(bytes: Uint8Array | string, filename: string): Promise<string>;
}

/** Those calls of a deployment in the name of its tenant's key. */
export function knowledgeCalls(stack: () => Stack): KnowledgeCalls {
  const sql: KnowledgeCalls['sql'] = (text, params) => sweep(stack().db, (em) => rows(em, text, params));
  async function asked<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await stack().request(method, path, body === undefined ? {} : { body });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }
  async function endOf(runId: string): Promise<KnowledgeRunShown> {
    // By its row: limits count requests.
    await until(async () => (await sql('select id from knowledge_runs where id = ? and finished_at is not null', [runId])).length > 0);
    return asked('GET', `/knowledge-maintenance-runs/${runId}`);
  }
  return {
    asked,
    endOf,
    sql,
    makeBase: (extra = {}) => {
      const slug = `base-${Math.random().toString(36).slice(2)}`;
      return asked('POST', '/knowledge-bases', { slug, name: 'Base', embedding_model: 'hash-v1', scope: 'workspace', ...extra });
    },
    async addItems(kbId, items) {
      const made = await asked<{ outcomes: { item_id: string }[] }>('POST', `/knowledge-bases/${kbId}/items/batch`, {
        items,
        on_duplicate: 'allow',
      });
      return made.outcomes.map(({ item_id: id }) => id);
    },
    ran: async (path, body) => endOf((await asked<{ id: string }>('POST', path, body)).id),
    async upload(bytes, filename) {
      const form = new FormData();
      form.set('purpose', 'knowledge');
      form.set('file', new Blob([typeof bytes === 'string' ? bytes : Uint8Array.from(bytes)]), filename);
      const headers = { authorization: `Bearer ${stack().tenant.serviceKey.plaintext}` };
      const reply = await fetch(`${stack().url()}/attachments`, { method: 'POST', body: form, headers });
      return ((await reply.json()) as { id: string }).id;
    },
  };
}

/**
 * Kills the bulk worker again and again while a run is at work: each time when the run has come further than at the last kill, `maxKills` times at most. Gives how
 * often, which is at least once unless the run was too short to be met.
 */
export async function killWhileItMoves(
  stack: Stack,
  { sql }: Pick<KnowledgeCalls, 'sql'>,
  { runId, maxKills }: { readonly runId: string; readonly maxKills: number },
): Promise<number> {
  const look = async () => {
    const [found] = await sql<{ at: string; ended: boolean }>(
      'select jsonb_build_array(progress, counts, cursor)::text as at, finished_at is not null as ended from knowledge_runs where id = ?',
      [runId],
    );
    return found ?? { at: '', ended: true };
  };
  let kills = 0;
  for (let last = (await look()).at; kills < maxKills; kills += 1) {
    let now = await look();
    await until(async () => {
      now = await look();
      return now.ended || now.at !== last;
    });
    if (now.ended) break;
    last = now.at;
    await stack.kill('worker-bulk');
    await stack.start('worker-bulk');
  }
  return kills;
}

/** The counters and terms of a base beside what its rows say: equal unless something has counted wrong. */
export async function countedAndReal(sql: KnowledgeCalls['sql'], kbId: string): Promise<readonly [unknown, unknown]> {
  const [found] = await sql<{ counted: unknown; real: unknown }>(
    `select jsonb_build_object('items', c.pending + c.reviewed + c.promoted + c.superseded + c.retired, 'chunks', c.chunks, 'tokens', c.tokens, 'lex_len', c.lex_len,
              'df', (select coalesce(sum(df), 0) from knowledge_terms where kb_id = b.id)) as counted,
            jsonb_build_object('items', (select count(*) from knowledge_live_items where kb_id = b.id), 'chunks', count(k.id), 'tokens', coalesce(sum(k.token_count), 0),
              'lex_len', coalesce(sum(k.lex_len), 0), 'df', coalesce(sum(length(k.lexemes)), 0)) as real
       from knowledge_bases b join knowledge_base_counters c on c.kb_id = b.id left join knowledge_chunks k on k.kb_id = b.id
      where b.id = ? group by b.id, c.kb_id`,
    [kbId],
  );
  return [found?.counted, found?.real];
}
