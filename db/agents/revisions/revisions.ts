import type { ActorRef } from '../../actor-ref.ts';
import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { visibleToSql, seen, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Agent } from '../agent.entity.ts';
import type { RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** A revision as it is read; lists omit the document. */
export interface AgentRevisionRow {
  readonly id: string;
  readonly agent_id: string;
  readonly number: number;
  readonly is_active: boolean;
  readonly document?: RevisionDocument;
  readonly document_hash: string;
  readonly note: string | null;
  readonly created_by: ActorRef;
  readonly created_at: Date | string;
}

/** An agent's organization and workspace; its revisions and references have the same. */
export interface AgentScope {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

const listColumns =
  'v.id, v.agent_id, v.number, coalesce(v.id = a.active_revision_id, false) as is_active, v.document_hash, v.note, v.created_by, v.created_at';

/** Returns a revision of an agent that the caller sees. Throws 404, also for a revision of another agent. */
export async function readRevision(
  ctx: Scoped,
  agentId: string,
  revisionId: string,
): Promise<AgentRevisionRow & { readonly document: RevisionDocument }> {
  const visible = visibleToSql(ctx, Agent, 'a');
  const found = await row<AgentRevisionRow & { document: RevisionDocument; workspace_id: string | null }>(
    ctx.em,
    `select ${listColumns}, v.document, a.workspace_id from agent_revisions v join agents a on a.id = v.agent_id
      where v.id = ? and v.agent_id = ? and a.deleted_at is null and ${visible.sql}`,
    [revisionId, agentId, ...visible.params],
  );
  const revision = seen(ctx, found);
  return { ...revision, document: upgradeDocument(revision.document) };
}

/** A revision to compare. */
export interface ComparedRevision {
  readonly id: string;
  readonly number: number;
  readonly document: RevisionDocument;
}

/** Two revisions to compare. */
export interface ComparedPair {
  readonly agentId: string;
  readonly targetId: string;
  /** Null: the active revision. */
  readonly baseId: string | null;
}

/**
 * Returns two revisions of an agent that the caller sees, in one statement; `base` is null when the agent has no such revision. Throws 404 when the agent
 * or target is missing.
 */
export async function findRevisionPair(
  ctx: Scoped,
  asked: ComparedPair,
): Promise<{ base: ComparedRevision | null; target: ComparedRevision }> {
  const visible = visibleToSql(ctx, Agent, 'a');
  const found = await row<{ base: ComparedRevision | null; target: ComparedRevision; workspace_id: string | null }>(
    ctx.em,
    `select a.workspace_id, jsonb_build_object('id', v.id, 'number', v.number, 'document', v.document) as target,
            (select jsonb_build_object('id', b.id, 'number', b.number, 'document', b.document) from agent_revisions b
              where b.agent_id = a.id and b.id = coalesce(?::uuid, a.active_revision_id)) as base
       from agent_revisions v join agents a on a.id = v.agent_id
      where v.id = ? and v.agent_id = ? and a.deleted_at is null and ${visible.sql}`,
    [asked.baseId, asked.targetId, asked.agentId, ...visible.params],
  );
  const { base, target } = seen(ctx, found);
  return {
    base: base && { ...base, document: upgradeDocument(base.document) },
    target: { ...target, document: upgradeDocument(target.document) },
  };
}

/** Lists the revisions of an agent that the caller may see, newest first, without documents. */
export function listRevisionRows(tx: Pick<TenantTransaction, 'em'>, agentId: string, page: PageRequest): Promise<Page<AgentRevisionRow>> {
  return fetchPage<AgentRevisionRow>(tx.em, {
    select: listColumns,
    from: 'agent_revisions v join agents a on a.id = v.agent_id',
    where: 'v.agent_id = ?',
    params: [agentId],
    order: [{ column: 'v.id', type: 'uuid', descending: true }],
    page,
  });
}
