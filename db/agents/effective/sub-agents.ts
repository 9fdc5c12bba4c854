import { sql, type SqlBool } from 'kysely';
import type { Condition } from '../../condition.ts';
import { contains } from '../../page-query.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import { rows } from '../../sql.ts';
import { Agent } from '../agent.entity.ts';

/** An agent that may be called. */
export type AgentSummaryRow = Awaited<ReturnType<typeof listSubAgents>>[number];

const maxListed = 200;

interface Arguments {
  readonly agentId: string;
  readonly q: string | undefined;
  readonly visible: Condition;
}

const subAgents = prepared(({ agentId, q, visible }: ParametersOf<Arguments>) => {
  const listed = query
    .withRecursive('asking', (of) =>
      of
        .selectFrom('agents')
        .select(['id', 'scope', 'organizationId', 'workspaceId'])
        .where('id', '=', agentId)
        .where('deletedAt', 'is', null),
    )
    .withRecursive('backward', (of) =>
      of
        .selectFrom('asking')
        .select('asking.id')
        .union(
          of
            .selectFrom('backward as l')
            .innerJoin('agent_refs as f', (join) => join.on('f.kind', '=', sql.lit('sub_agent')).onRef('f.targetId', '=', 'l.id'))
            .innerJoin('agents as b', (join) => join.onRef('b.activeRevisionId', '=', 'f.revisionId').on('b.deletedAt', 'is', null))
            .select('b.id'),
        ),
    )
    .selectFrom('asking as s')
    .innerJoin('agents as a', (join) =>
      join
        .on('a.deletedAt', 'is', null)
        .on('a.isActive', '=', sql.lit(true))
        .on(
          sql<SqlBool>`(a.scope = 'platform' or (a.organization_id = s.organization_id and (a.workspace_id is null or a.workspace_id = s.workspace_id)))`,
        ),
    )
    .innerJoin('agent_revisions as v', (join) => join.onRef('v.id', '=', 'a.activeRevisionId').onRef('v.agentId', '=', 'a.id'))
    .where('a.id', 'not in', ({ selectFrom }) => selectFrom('backward').select('backward.id'))
    .where(visible)
    .select(['a.id', 'a.slug', 'a.name', 'a.description', 'a.scope', 'a.avatarPreset', 'a.imageUrl', 'v.id as activeRevisionId'])
    .select(sql<Record<string, unknown> | null>`v.document -> 'input_schema'`.as('inputSchema'))
    .orderBy('a.name')
    .orderBy('a.id')
    .limit(sql.lit(maxListed));
  return q ? listed.where(({ ref }) => contains(q, ref('a.slug'), ref('a.name'), ref('a.description'))) : listed;
});

/**
 * Lists agents to which an agent may delegate, by name: active ones with an active revision, of the agent's own scope or a wider one, excluding the agent
 * itself and every agent whose active revisions lead back to it. At most 200.
 */
export function listSubAgents(ctx: Scoped, agentId: string, q: string | undefined) {
  return rows(ctx.em, subAgents({ agentId, q, visible: visibleTo(ctx, Agent, 'a') }));
}
