import { newId } from '../../../db/ids.ts';
import { change } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { World } from '../world.ts';

export interface SearchedBaseShape {
  readonly model?: 'hash-v1' | 'none';
  readonly language?: string;
  readonly isPrivate?: boolean;
  readonly hasPending?: boolean;
  readonly organizationId?: string;
  readonly workspaceId?: string;
}

/** A base written as rows, which items are then added to through the API. */
export async function baseOf(world: World, tenant: TestTenant, shape: SearchedBaseShape = {}): Promise<string> {
  const { model = 'none', language = 'en', isPrivate = false, hasPending = false } = shape;
  const id = newId();
  await execute(
    world,
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, is_private, embedding_model, embedding_dim, retrieval, activated_at)
     values (?, 'workspace', ?, ?, ?, 'Base', 'documents', ?, ?, ?, ?::jsonb, now())`,
    [
      id,
      tenant.organizationId,
      tenant.workspaceId,
      `base-${id}`,
      isPrivate,
      model,
      model === 'none' ? 0 : 1_024,
      JSON.stringify({ language, vector_weight: null, include_pending: hasPending }),
    ],
  );
  await execute(world, 'insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values (?, ?, ?)', [
    id,
    tenant.organizationId,
    tenant.workspaceId,
  ]);
  return id;
}

/** Changes rows past every policy. */
export async function execute(world: World, sql: string, params: readonly unknown[]): Promise<number> {
  return sweep(world.api.db, (em) => change(em, sql, params));
}

/** Gives a user of the tenant a right on a base. */
export async function grant(
  world: World,
  { organizationId, workspaceId }: Pick<TestTenant, 'organizationId' | 'workspaceId'>,
  { kbId, userId, expiresAt = null }: { readonly kbId: string; readonly userId: string; readonly expiresAt?: Date | null },
): Promise<string> {
  const id = newId();
  await execute(
    world,
    `insert into knowledge_grants (id, kb_id, organization_id, workspace_id, principal_kind, principal_id, access, expires_at) values (?, ?, ?, ?, 'user', ?, 'read', ?)`,
    [id, kbId, organizationId, workspaceId, userId, expiresAt],
  );
  return id;
}

/** Adds an item through the API and gives its view. */
export async function add(world: World, token: string, kbId: string, body: Readonly<Record<string, unknown>>) {
  const made = await world.call(token, 'POST', `/knowledge-bases/${kbId}/items`, { body });
  if (made.status !== 201) throw new Error(`createKnowledgeItem: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}
