import { fail } from '../../workflows/contracts/failure.ts';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { inSightOf, seen, visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Persona } from './persona.entity.ts';
import type { PersonaDocument } from './persona-document.ts';
import { keepPersonaRefs } from './persona-refs.ts';
import type { AgentHome } from './revisions.ts';

/** A persona as it is read. */
export interface PersonaRow {
  readonly id: string;
  readonly agent_id: string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly is_default: boolean;
  readonly is_active: boolean;
  readonly version: number;
  readonly document: PersonaDocument;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** A persona to be stored. */
export interface NewPersona {
  readonly document: PersonaDocument;
  readonly isDefault: boolean;
  readonly isActive: boolean;
}

/** Personas of an agent, so that each export can be imported. */
export const maxPersonas = 50;

const columns =
  'p.id, p.agent_id, p.organization_id, p.workspace_id, p.slug, p.is_default, p.is_active, p.version, p.document, p.row_version, p.created_at, p.updated_at';

/** One persona of an agent that the caller sees. Throws 404, also for another agent's. */
export async function readPersona(ctx: Scoped, agentId: string, personaId: string): Promise<PersonaRow> {
  const visible = inSightOf(ctx, Persona, 'p');
  const found = await row<PersonaRow>(
    ctx.em,
    `select ${columns} from personas p where p.id = ? and p.agent_id = ? and p.deleted_at is null and ${visible.sql}`,
    [personaId, agentId, ...visible.params],
  );
  return seen(ctx, found);
}

/** Personas of an agent that the caller has been shown, newest first. */
export function listPersonaRows(ctx: Scoped, agentId: string, page: PageRequest): Promise<Page<PersonaRow>> {
  const visible = visibleTo(ctx, Persona, 'p');
  return fetchPage<PersonaRow>(ctx.em, {
    select: columns,
    from: 'personas p',
    where: `p.agent_id = ? and p.deleted_at is null and ${visible.sql}`,
    params: [agentId, ...visible.params],
    order: [{ column: 'p.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Throws 409 `limit_reached` when an agent has as many personas as an import may hold. The caller holds the agent's lock. */
export async function refuseFull(tx: TenantTransaction, agentId: string): Promise<void> {
  const found = await row<{ n: number }>(tx.em, 'select count(*)::int as n from personas where agent_id = ? and deleted_at is null', [
    agentId,
  ]);
  if ((found?.n ?? 0) < maxPersonas) return;
  throw fail('state_conflict', { reason: 'limit_reached', detail: `An agent has at most ${maxPersonas} personas.` });
}

/**
 * Writes personas of an agent with their first versions, in as many statements whatever their number. The caller holds the agent's lock and has
 * made room for a default. Gives their ids in order.
 */
export async function insertPersonas(
  tx: TenantTransaction,
  { agent, personas, createdBy }: { readonly agent: AgentHome; readonly personas: readonly NewPersona[]; readonly createdBy: ActorRef },
): Promise<string[]> {
  if (personas.length === 0) return [];
  const ids = personas.map(() => newId());
  const records = personas.map(({ document, isDefault, isActive }, at) => ({
    id: ids[at],
    document,
    is_default: isDefault,
    is_active: isActive,
  }));
  await rows(
    tx.em,
    `insert into personas (id, agent_id, organization_id, workspace_id, slug, is_default, is_active, version, document, row_version, created_at, updated_at)
     select n.id, ?::uuid, ?::uuid, ?::uuid, n.document ->> 'slug', n.is_default, n.is_active, 1, n.document, 1, now(), now()
       from jsonb_to_recordset(?::jsonb) as n (id uuid, document jsonb, is_default boolean, is_active boolean)`,
    [agent.id, agent.organizationId, agent.workspaceId, JSON.stringify(records)],
  );
  await insertVersions(tx, { agent, versions: ids.map((id) => ({ id, version: 1 })), createdBy });
  if (records.some(({ document }) => document.knowledge.length > 0)) await keepPersonaRefs(tx, ids);
  return ids;
}

/** Keeps the documents of personas as they stand now as versions. */
export async function insertVersions(
  tx: TenantTransaction,
  {
    agent,
    versions,
    createdBy,
  }: { readonly agent: AgentHome; readonly versions: readonly { id: string; version: number }[]; readonly createdBy: ActorRef },
): Promise<void> {
  await rows(
    tx.em,
    `insert into persona_versions (id, persona_id, organization_id, workspace_id, version, document, created_by, created_at)
     select n.id, p.id, p.organization_id, p.workspace_id, n.version, p.document, ?::jsonb, now()
       from unnest(?::uuid[], ?::uuid[], ?::int[]) as n (id, persona_id, version) join personas p on p.id = n.persona_id and p.agent_id = ?::uuid`,
    [
      JSON.stringify(createdBy),
      versions.map(() => newId()),
      versions.map(({ id }) => id),
      versions.map(({ version }) => version),
      agent.id,
    ],
  );
}

/** Takes the default away from whichever persona of an agent has it, except one. The caller holds the agent's lock. */
export async function clearDefault(tx: TenantTransaction, agentId: string, exceptId: string | null): Promise<void> {
  await rows(
    tx.em,
    `update personas set is_default = false, row_version = row_version + 1, updated_at = now()
      where agent_id = ? and is_default and deleted_at is null and id is distinct from ?::uuid`,
    [agentId, exceptId],
  );
}
