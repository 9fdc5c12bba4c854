import { holdsText } from '../../page-query.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import { rows } from '../../sql.ts';
import type { Scope } from '../../../workflows/contracts/access.ts';
import { Agent, type avatarPresets } from '../agent.entity.ts';

/** An agent that may be called. */
export interface AgentSummaryRow {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly scope: Scope;
  readonly avatar_preset: (typeof avatarPresets)[number] | null;
  readonly image_url: string | null;
  readonly active_revision_id: string;
  readonly input_schema: Record<string, unknown> | null;
}

const limitListed = 200;

/**
 * Lists agents to which an agent may delegate, by name: active ones with an active revision, of the agent's own scope or a wider one, excluding the agent
 * itself and every agent whose active revisions lead back to it. At most 200.
 */
export function listSubAgents(ctx: Scoped, agentId: string, q: string | undefined): Promise<AgentSummaryRow[]> {
  const visible = visibleTo(ctx, Agent, 'a');
  const isFound = q === undefined ? 'true' : holdsText('a.slug', 'a.name', 'a.description');
  return rows<AgentSummaryRow>(
    ctx.em,
    `with recursive asking as (select id, scope, organization_id, workspace_id from agents where id = ? and deleted_at is null),
     backward as (
       select id from asking
       union
       select b.id from backward l
         join agent_refs f on f.kind = 'sub_agent' and f.target_id = l.id
         join agents b on b.active_revision_id = f.revision_id and b.deleted_at is null
     )
     select a.id, a.slug, a.name, a.description, a.scope, a.avatar_preset, a.image_url, a.active_revision_id, v.document -> 'input_schema' as input_schema
       from asking s
       join agents a on a.deleted_at is null and a.is_active
        and (a.scope = 'platform' or (a.organization_id = s.organization_id and (a.workspace_id is null or a.workspace_id = s.workspace_id)))
       join agent_revisions v on v.id = a.active_revision_id and v.agent_id = a.id
      where a.id not in (select id from backward) and ${visible.sql} and ${isFound}
      order by a.name, a.id limit ${limitListed}`,
    [agentId, ...visible.params, ...(q === undefined ? [] : [q])],
  );
}
