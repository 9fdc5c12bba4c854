import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/**
 * Keeps which bases personas name as rows, from their documents as they stand; a deleted persona names none. One statement. The caller holds the agent's
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
