import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { requestIndex } from '../../domain/knowledge/items/request-index.ts';
import { contentHash } from '../../ports/content-hash.ts';
import type { Stack } from '../support/stack.ts';

type Sql = <T>(text: string, params: readonly unknown[]) => Promise<T[]>;

/** A base of the stack's first workspace, made and read past the API. */
export interface TestBase {
  readonly id: string;
  readonly sql: Sql;
  /** Adds items that wait for their index. */
  add(contents: readonly string[]): Promise<string[]>;
  /** Starts or signals `index:<kb>`. */
  request(): Promise<void>;
  /** How many items are in each state of their index. */
  states(): Promise<Record<string, number>>;
  /** Chunks that are there, those of them with a vector, and inputs that were billed. */
  counts(): Promise<{ chunks: number; vectors: number }>;
  ledger(): Promise<{ call_key: string; input_tokens: string; cost: string; model: string; source_kind: string }[]>;
}

/** Makes a base with counters and no items. */
export async function testBase(stack: Stack, model: { readonly id: string; readonly dim: number }): Promise<TestBase> {
  const { organizationId, workspaceId } = stack.tenant;
  const sql: Sql = (text, params) => sweep(stack.db, (em) => rows(em, text, params));
  const id = newId();
  await sql(
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, chunking, activated_at)
     values (?, 'workspace', ?, ?, ?, 'Base', 'documents', ?, ?, '{"size_tokens": 64, "overlap_tokens": 0}', now())`,
    [id, organizationId, workspaceId, `base-${id.slice(-12)}`, model.id, model.dim],
  );
  await sql('insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values (?, ?, ?)', [
    id,
    organizationId,
    workspaceId,
  ]);

  return {
    id,
    sql,
    async add(contents) {
      const ids = contents.map(() => newId());
      for (const [at, content] of contents.entries())
        await sql(
          `insert into knowledge_items (id, kb_id, organization_id, workspace_id, kind, content, content_hash, origin, trust, curation_state, created_by)
           values (?, ?, ?, ?, 'document', ?, ?, 'human', 'workspace', 'reviewed', '{"kind":"system","id":null}')`,
          [ids[at], id, organizationId, workspaceId, content, contentHash(content)],
        );
      return ids;
    },
    async request() {
      const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
      await transact(stack.db, options, (tx) => requestIndex(tx, { id, organizationId, workspaceId }, newId()));
    },
    async states() {
      const found = await sql<{ state: string; n: number }>(
        'select index_state as state, count(*)::int as n from knowledge_items where kb_id = ? group by 1',
        [id],
      );
      return Object.fromEntries(found.map(({ state, n }) => [state, n]));
    },
    async counts() {
      const [found] = await sql<{ chunks: number; vectors: number }>(
        `select (select count(*)::int from knowledge_chunks where kb_id = ?) as chunks, (select count(*)::int from knowledge_vectors where kb_id = ?) as vectors`,
        [id, id],
      );
      return found ?? { chunks: -1, vectors: -1 };
    },
    ledger: () =>
      sql('select call_key, input_tokens, cost, model, source_kind from usage_entries where source_id = ? order by occurred_at, id', [id]),
  };
}

/** Words without end that repeat nowhere: `seed` tells texts apart. */
export function words(seed: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${seed}${at} lies in the harbour of number ${at}.`).join(' ');
}
