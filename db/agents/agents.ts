import { sql } from 'kysely';
import type { Scope } from '../../workflows/contracts/access.ts';
import type { Condition } from '../condition.ts';
import { literals } from '../expressions.ts';
import { contains, preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { usableIn } from '../usable-in.ts';
import { Agent } from './agent.entity.ts';
import type { readRevision } from './revisions/revisions.ts';
import { upgradeDocument } from './revisions/upgrade-document.ts';

/** An agent as lists show it. */
export type ListedAgent = Awaited<ReturnType<typeof listAgentRows>>['items'][number];

/** An agent with its active revision and the number of its revisions. */
export type AgentRow = Awaited<ReturnType<typeof readAgent>>;

export interface AgentFilters {
  readonly q?: string;
  readonly scope?: Scope;
  readonly is_active?: boolean;
}

function selectAgents(visible: Condition) {
  return query
    .selectFrom('agents as a')
    .where('a.deletedAt', 'is', null)
    .where(visible)
    .select(['a.id', 'a.scope', 'a.organizationId', 'a.workspaceId', 'a.slug', 'a.name', 'a.description', 'a.avatarPreset', 'a.imageUrl'])
    .select(['a.isActive', 'a.attributes', 'a.activeRevisionId', 'a.createdByUserId', 'a.rowVersion', 'a.createdAt', 'a.updatedAt']);
}

/** The active revision of agent `a`; null when it has none. */
const activeRevision = sql<Awaited<ReturnType<typeof readRevision>> | null>`(
  select jsonb_build_object('id', v.id, 'agentId', v.agent_id, 'number', v.number, 'isActive', true, 'document', v.document, 'documentHash', v.document_hash,
           'note', v.note, 'createdBy', v.created_by, 'createdAt', v.created_at)
    from agent_revisions v where v.id = a.active_revision_id)`;

type One = { readonly agentId: string; readonly visible: Condition };

const agentDetail = prepared(({ agentId, visible }: ParametersOf<One>) =>
  selectAgents(visible)
    .where('a.id', '=', agentId)
    .select(activeRevision.as('activeRevision'))
    .select(sql<number>`(select count(*)::int from agent_revisions n where n.agent_id = a.id)`.as('revisionCount')),
);

/** Returns an agent that the caller sees, with its active revision and the number of its revisions. Throws 404, or 403 below the floor in its workspace. */
export async function readAgent(ctx: Scoped, agentId: string) {
  const agent = seen(ctx, await row(ctx.em, agentDetail({ agentId, visible: visibleToSql(ctx, Agent, 'a') })));
  const { activeRevision: active } = agent;
  return { ...agent, activeRevision: active && { ...active, document: upgradeDocument(active.document) } };
}

/** Checks that the caller may see the agent whose list it reads. Throws 404 unless the caller sees the agent, 403 below the floor in its workspace. */
export async function requireAgent(ctx: Scoped, agentId: string): Promise<void> {
  seen(ctx, await findAgentPlace(ctx, agentId));
}

const agentPlace = prepared(({ agentId, visible }: ParametersOf<One>) =>
  query
    .selectFrom('agents as a')
    .select(['a.organizationId', 'a.workspaceId'])
    .where('a.id', '=', agentId)
    .where('a.deletedAt', 'is', null)
    .where(visible),
);

/**
 * Returns the organization and workspace of an agent that the caller sees, whatever the caller's role there; both null for a platform agent, the workspace
 * null for an agent of the whole organization. Returns null when there is no such agent.
 */
export function findAgentPlace(ctx: Scoped, agentId: string) {
  return row(ctx.em, agentPlace({ agentId, visible: visibleToSql(ctx, Agent, 'a') }));
}

const liveRuns = prepared(({ agentId }: ParametersOf<{ readonly agentId: string }>) =>
  query
    .selectFrom('runs')
    .select(['id', 'status'])
    .where('agentId', '=', agentId)
    .where('status', 'in', literals('queued', 'running', 'waiting', 'cancelling'))
    .orderBy(sql`activated_at is not null`)
    .orderBy('id', 'desc'),
);

/** Returns the runs of an agent that have not ended, queued ones first. */
export function liveRunsOf(tx: Pick<TenantTransaction, 'em'>, agentId: string) {
  return rows(tx.em, liveRuns({ agentId }));
}

interface ListArguments {
  readonly visible: Condition;
  readonly q: string | undefined;
  readonly scope: Scope | undefined;
  readonly isActive: boolean | undefined;
}

const agentList = preparedList(
  ({ visible, q, scope, isActive }: ParametersOf<ListArguments>) => {
    let agents = selectAgents(visible);
    if (q) agents = agents.where(({ ref }) => contains(q, ref('a.slug'), ref('a.name'), ref('a.description')));
    if (scope) agents = agents.where('a.scope', '=', scope);
    if (isActive) agents = agents.where('a.isActive', '=', isActive);
    return agents;
  },
  [{ column: 'a.id', type: 'uuid', descending: true }],
);

/** Lists the agents that the caller sees, newest first. */
export function listAgentRows(ctx: Scoped, { q, scope, is_active: isActive }: AgentFilters, page: PageRequest) {
  return agentList(ctx.em, { visible: visibleTo(ctx, Agent, 'a'), q, scope, isActive }, page);
}

/** Whether an agent may run in a workspace: one of the workspace's own, of its organization, or of the platform. */
export async function runsInWorkspace(
  tx: Pick<TenantTransaction, 'em'>,
  agentId: string,
  place: { readonly organizationId: string; readonly workspaceId: string },
): Promise<boolean> {
  const found = await row(
    tx.em,
    query.selectFrom('agents as a').where('a.id', '=', agentId).where('a.deletedAt', 'is', null).where(usableIn(place, 'a')).select('a.id'),
  );
  return found !== null;
}
