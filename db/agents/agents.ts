import type { Scope } from '../../workflows/contracts/access.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Agent, type avatarPresets } from './agent.entity.ts';
import type { AgentRevisionRow } from './revisions/revisions.ts';
import { upgradeDocument } from './revisions/upgrade-document.ts';

/** An agent as it is read; the last two fields are set only on detail. */
export interface AgentRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly avatar_preset: (typeof avatarPresets)[number] | null;
  readonly image_url: string | null;
  readonly is_active: boolean;
  readonly attributes: Record<string, unknown>;
  readonly active_revision_id: string | null;
  readonly created_by_user_id: string | null;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
  readonly active_revision: AgentRevisionRow | null;
  readonly revision_count: number | null;
}

export interface AgentFilters {
  readonly q?: string;
  readonly scope?: Scope;
  readonly is_active?: boolean;
}

const columns = `a.id, a.scope, a.organization_id, a.workspace_id, a.slug, a.name, a.description, a.avatar_preset, a.image_url, a.is_active, a.attributes,
  a.active_revision_id, a.created_by_user_id, a.row_version, a.created_at, a.updated_at`;

const activeRevision = `(select jsonb_build_object('id', v.id, 'agent_id', v.agent_id, 'number', v.number, 'is_active', true, 'document', v.document,
    'document_hash', v.document_hash, 'note', v.note, 'created_by', v.created_by, 'created_at', v.created_at)
  from agent_revisions v where v.id = a.active_revision_id) as active_revision`;

/** Returns an agent that the caller sees, with its active revision and the number of its revisions. Throws 404, or 403 below the floor in its workspace. */
export async function readAgent(ctx: Scoped, agentId: string): Promise<AgentRow> {
  const visible = visibleToSql(ctx, Agent, 'a');
  const found = await row<AgentRow>(
    ctx.em,
    `select ${columns}, ${activeRevision}, (select count(*)::int from agent_revisions n where n.agent_id = a.id) as revision_count
       from agents a where a.id = ? and a.deleted_at is null and ${visible.sql}`,
    [agentId, ...visible.params],
  );
  const agent = seen(ctx, found);
  const { active_revision: active } = agent;
  return { ...agent, active_revision: active?.document ? { ...active, document: upgradeDocument(active.document) } : active };
}

/** Checks that the caller may see the agent whose list it reads. Throws 404 unless the caller sees the agent, 403 below the floor in its workspace. */
export async function requireAgent(ctx: Scoped, agentId: string): Promise<void> {
  seen(ctx, await findAgentPlace(ctx, agentId));
}

/**
 * Returns the organization and workspace of an agent that the caller sees, whatever the caller's role there; both null for a platform agent, the workspace
 * null for an agent of the whole organization. Returns null when there is no such agent.
 */
export function findAgentPlace(
  ctx: Scoped,
  agentId: string,
): Promise<{ readonly organization_id: string | null; readonly workspace_id: string | null } | null> {
  const visible = visibleToSql(ctx, Agent, 'a');
  return row(ctx.em, `select a.organization_id, a.workspace_id from agents a where a.id = ? and a.deleted_at is null and ${visible.sql}`, [
    agentId,
    ...visible.params,
  ]);
}

/** Returns the runs of an agent that have not ended, queued ones first. */
export function liveRunsOf(
  tx: Pick<TenantTransaction, 'em'>,
  agentId: string,
): Promise<{ readonly id: string; readonly status: string }[]> {
  return rows(
    tx.em,
    "select id, status from runs where agent_id = ? and status in ('queued', 'running', 'waiting', 'cancelling') order by activated_at is not null, id desc",
    [agentId],
  );
}

/** Lists the agents that the caller sees, newest first. */
export function listAgentRows(ctx: Scoped, filters: AgentFilters, page: PageRequest): Promise<Page<AgentRow>> {
  const visible = visibleTo(ctx, Agent, 'a');
  const where = ['a.deleted_at is null', visible.sql];
  const params: unknown[] = [...visible.params];
  if (filters.q !== undefined) {
    where.push(holdsText('a.slug', 'a.name', 'a.description'));
    params.push(filters.q);
  }
  if (filters.scope !== undefined) {
    where.push('a.scope = ?');
    params.push(filters.scope);
  }
  if (filters.is_active !== undefined) {
    where.push('a.is_active = ?');
    params.push(filters.is_active);
  }
  return fetchPage<AgentRow>(ctx.em, {
    select: columns,
    from: 'agents a',
    where: where.join(' and '),
    params,
    order: [{ column: 'a.id', type: 'uuid', descending: true }],
    page,
  });
}
