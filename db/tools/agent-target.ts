import { row } from '../sql.ts';
import type { RowScope } from '../new-row-scope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AgentRefDraft, StoredAgentRef } from './kind-config.ts';

export interface AgentTarget extends StoredAgentRef {
  /** False: the revision that was named is another agent's or none. */
  readonly has_revision: boolean;
  readonly has_persona: boolean;
}

/**
 * The agent that a tool of this home names, by id or by slug from near to far, in its own scope or a wider one; null when there is none.
 * `revision` is a uuid or null, `personaSlug` a slug or null.
 */
export function findAgentTarget(
  tx: Pick<TenantTransaction, 'em'>,
  home: RowScope,
  named: { readonly agent: AgentRefDraft; readonly revision: string | null; readonly personaSlug: string | null },
): Promise<AgentTarget | null> {
  const { id, slug, scope } = named.agent;
  return row<AgentTarget>(
    tx.em,
    `select a.id, a.slug, a.scope,
            ?::uuid is null or exists (select from agent_revisions v where v.id = ?::uuid and v.agent_id = a.id) as has_revision,
            ?::text is null or exists (select from personas p where p.slug = ?::text and p.agent_id = a.id) as has_persona
       from agents a
      where a.deleted_at is null and (?::uuid is null or a.id = ?::uuid) and (?::text is null or a.slug = ?::text) and (?::text is null or a.scope = ?::text)
        and ((a.scope = 'platform' and a.is_active) or (a.organization_id = ?::uuid and (a.workspace_id is null or a.workspace_id = ?::uuid)))
      order by array_position(array['workspace', 'organization', 'platform'], a.scope::text) limit 1`,
    [
      ...twice(named.revision),
      ...twice(named.personaSlug),
      ...twice(id ?? null),
      ...twice(id === undefined ? (slug ?? null) : null),
      ...twice(scope ?? null),
      home.organizationId,
      home.workspaceId,
    ],
  );
}

function twice(value: string | null): [string | null, string | null] {
  return [value, value];
}
