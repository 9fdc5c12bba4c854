import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

/** A run as its view shows it. */
export interface RunFacts {
  readonly id: string;
  readonly status: string;
  readonly paused_reason: string | null;
  readonly attachment_id: string | null;
  readonly counts: Record<string, number>;
  readonly result: Record<string, Record<string, unknown>> | null;
  readonly errors: readonly { readonly code: string }[];
  readonly cost: { readonly spent: string };
  readonly requested_by: { readonly kind: string };
}

export interface FindingFacts {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly item_ids: readonly string[];
  readonly detail: Record<string, unknown>;
}

/** What tests of maintenance do with a stack, through its API. */
export interface Upkeep {
  sql<T>(text: string, params: readonly unknown[]): Promise<T[]>;
  /** Rejects for a status that is no success. */
  asked<T>(method: string, path: string, body?: unknown): Promise<T>;
  makeBase(model?: string): Promise<string>;
  addItem(kbId: string, content: string, more?: Record<string, unknown>): Promise<string>;
  start(kbId: string, body: Record<string, unknown>): Promise<RunFacts>;
  ended(runId: string): Promise<RunFacts>;
  maintained(kbId: string, body: Record<string, unknown>): Promise<RunFacts>;
  findings(kbId: string, query?: string): Promise<FindingFacts[]>;
  /** Waits until no item waits for its index. */
  indexed(kbId: string): Promise<void>;
}

export function upkeepOf(stack: () => Stack): Upkeep {
  const upkeep: Upkeep = {
    sql: (text, params) => sweep(stack().db, (em) => rows(em, text, params)),
    async asked<T>(method: string, path: string, body?: unknown): Promise<T> {
      const reply = await stack().request(method, path, body === undefined ? {} : { body });
      if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body as T; // of the form that the test names
    },
    async makeBase(model = 'hash-v1') {
      const body = { slug: `base-${newId()}`, name: 'Base', embedding_model: model, scope: 'workspace' };
      return (await upkeep.asked<{ id: string }>('POST', '/knowledge-bases', body)).id;
    },
    async addItem(kbId, content, more = {}) {
      return (await upkeep.asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/items`, { content, on_duplicate: 'allow', ...more })).id;
    },
    start: (kbId, body) => upkeep.asked('POST', `/knowledge-bases/${kbId}/maintenance-runs`, body),
    async ended(runId) {
      let run: RunFacts | null = null;
      await until(async () => {
        run = await upkeep.asked<RunFacts>('GET', `/knowledge-maintenance-runs/${runId}`);
        return ['succeeded', 'failed', 'cancelled'].includes(run.status);
      });
      return run ?? Promise.reject(new Error('no run'));
    },
    maintained: async (kbId, body) => upkeep.ended((await upkeep.start(kbId, body)).id),
    findings: async (kbId, query = '') =>
      (await upkeep.asked<{ items: FindingFacts[] }>('GET', `/knowledge-findings?kb_id=${kbId}&limit=200${query}`)).items,
    indexed: (kbId) =>
      until(async () => {
        const waiting = `select count(*)::int as n from knowledge_items where kb_id = ? and index_state = 'pending' and deleted_at is null`;
        return (await upkeep.sql<{ n: number }>(waiting, [kbId]))[0]?.n === 0;
      }),
  };
  return upkeep;
}
