import type { ActorRef } from '../../actor-ref.ts';
import { newId } from '../../ids.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { PersonaDocument } from './persona-document.ts';
import type { AgentScope } from '../revisions/revisions.ts';

/** A persona to be stored. */
export interface NewPersona {
  readonly document: PersonaDocument;
  readonly isDefault: boolean;
  readonly isActive: boolean;
}

/**
 * Writes personas of an agent with their first versions, in a constant number of statements. The caller holds the agent's lock and has cleared the previous
 * default. Returns their ids in order.
 */
export async function insertPersonas(
  tx: TenantTransaction,
  { agent, personas, createdBy }: { readonly agent: AgentScope; readonly personas: readonly NewPersona[]; readonly createdBy: ActorRef },
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

/** Stores the current documents of personas as versions. */
export async function insertVersions(
  tx: TenantTransaction,
  {
    agent,
    versions,
    createdBy,
  }: { readonly agent: AgentScope; readonly versions: readonly { id: string; version: number }[]; readonly createdBy: ActorRef },
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

/** Clears the default flag of an agent's personas, except for one. The caller holds the agent's lock. */
export async function clearDefault(tx: TenantTransaction, agentId: string, exceptId: string | null): Promise<void> {
  await rows(
    tx.em,
    `update personas set is_default = false, row_version = row_version + 1, updated_at = now()
      where agent_id = ? and is_default and deleted_at is null and id is distinct from ?::uuid`,
    [agentId, exceptId],
  );
}

/**
 * Updates, in one statement, which bases personas reference, from their current documents; a deleted persona references none. The caller holds the agent's
 * lock.
 */
export async function keepPersonaRefs(tx: TenantTransaction, personaIds: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `with named as (
       select distinct p.id, p.organization_id, p.workspace_id, (b ->> 'id')::uuid as target_id
         from personas p cross join jsonb_array_elements(coalesce(p.document -> 'knowledge', '[]')) b
        where p.id = any (?::uuid[]) and p.deleted_at is null),
     gone as (
       delete from agent_refs r where r.persona_id = any (?::uuid[])
          and not exists (select from named n where n.id = r.persona_id and r.kind = 'knowledge' and n.target_id = r.target_id))
     insert into agent_refs (id, organization_id, workspace_id, revision_id, persona_id, kind, target_id, created_at)
     select gen_random_uuid(), n.organization_id, n.workspace_id, null, n.id, 'knowledge', n.target_id, now() from named n
     on conflict do nothing`,
    [personaIds, personaIds],
  );
}
