import { newId } from '../../../db/ids.ts';
import { change, row, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { World } from '../world.ts';

interface BaseShape {
  readonly model?: string;
  readonly dim?: number;
  readonly language?: string;
  readonly kind?: string;
  readonly isPrivate?: boolean;
  readonly scope?: 'workspace' | 'organization';
}

/** A base of a tenant, written as rows. */
export async function makeBase(
  world: World,
  { organizationId, workspaceId }: Pick<TestTenant, 'organizationId' | 'workspaceId'>,
  { model = 'hash-v1', dim = 1_024, language = 'en', kind = 'documents', isPrivate = false, scope = 'workspace' }: BaseShape = {},
): Promise<string> {
  const id = newId();
  const place = [organizationId, scope === 'workspace' ? workspaceId : null];
  await sweep(world.api.db, async (em) => {
    await change(
      em,
      `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, is_private, embedding_model, embedding_dim, retrieval, activated_at)
       values (?, ?, ?, ?, ?, 'Base', ?, ?, ?, ?, ?::jsonb, now())`,
      [
        id,
        scope,
        ...place,
        `base-${id}`,
        kind,
        isPrivate,
        model,
        dim,
        JSON.stringify({ language, vector_weight: null, include_pending: false }),
      ],
    );
    await change(em, 'insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values (?, ?, ?)', [id, ...place]);
  });
  return id;
}

/** Rows of a statement that sees all tenants. */
export function rowsOf<T>(world: World, sql: string, params: readonly unknown[]): Promise<T[]> {
  return sweep(world.api.db, (em) => rows<T>(em, sql, params));
}

/** Changes rows of all tenants. */
export function changeRows(world: World, sql: string, params: readonly unknown[]): Promise<number> {
  return sweep(world.api.db, (em) => change(em, sql, params));
}

/** An item of a base; gives its view. */
export async function makeItem(world: World, token: string, kbId: string, body: Readonly<Record<string, unknown>> = {}) {
  const made = await world.call(token, 'POST', `/knowledge-bases/${kbId}/items`, { body: { content: `Text ${newId()}`, ...body } });
  if (made.status !== 201) throw new Error(`createKnowledgeItem: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

/** A duplicate as a run would have found it; gives its id. */
export async function plantFinding(
  world: World,
  { organizationId, workspaceId }: Pick<TestTenant, 'organizationId' | 'workspaceId'>,
  { kbId, itemIds }: { readonly kbId: string; readonly itemIds: readonly string[] },
): Promise<string> {
  const id = newId();
  await changeRows(
    world,
    `insert into knowledge_findings (id, kb_id, organization_id, workspace_id, kind, fingerprint, item_ids) values (?, ?, ?, ?, 'duplicate', ?, ?::uuid[])`,
    [id, kbId, organizationId, workspaceId, id, itemIds],
  );
  return id;
}

interface Numbers {
  readonly counted: Record<string, number>;
  readonly real: Record<string, number>;
  readonly terms: number;
  readonly vectors: number;
}

/** The counters of a base, and what its rows say: equal unless something has counted wrong. `terms`: lexemes whose count is wrong. */
export async function numbersOf(world: World, kbId: string): Promise<Numbers> {
  const found = await sweep(world.api.db, (em) =>
    row<Numbers>(
      em,
      `select (select jsonb_build_object('pending', pending, 'reviewed', reviewed, 'promoted', promoted, 'superseded', superseded, 'retired', retired,
          'chunks', chunks, 'tokens', tokens, 'lex_len', lex_len) from knowledge_base_counters where kb_id = b.id) as counted,
        (select jsonb_build_object('pending', count(*) filter (where curation_state = 'pending'), 'reviewed', count(*) filter (where curation_state = 'reviewed'),
          'promoted', count(*) filter (where curation_state = 'promoted'), 'superseded', count(*) filter (where curation_state = 'superseded'),
          'retired', count(*) filter (where curation_state = 'retired'))
          || (select jsonb_build_object('chunks', count(*), 'tokens', coalesce(sum(token_count), 0), 'lex_len', coalesce(sum(lex_len), 0))
              from knowledge_live_chunks where kb_id = b.id) from knowledge_live_items where kb_id = b.id) as real,
        (select count(*) from (select substr(l.lexeme, strpos(l.lexeme, ':') + 1) as lexeme, count(*) as df from knowledge_live_chunks c,
           unnest(tsvector_to_array(c.lexemes)) l (lexeme) where c.kb_id = b.id group by 1) r
           full join (select lexeme, df from knowledge_terms where kb_id = b.id) t on t.lexeme = r.lexeme where t.df is distinct from r.df) as terms,
        (select count(*) from knowledge_vectors where kb_id = b.id) as vectors
       from knowledge_bases b where b.id = ?`,
      [kbId],
    ),
  );
  if (!found) throw new Error('no such base');
  return found;
}
