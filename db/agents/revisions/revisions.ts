import { type Expression, sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Agent } from '../agent.entity.ts';
import type { RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** A revision as it is read; lists omit the document. */
export type AgentRevisionRow = ListedRevision & { readonly document?: RevisionDocument };
type ListedRevision = Awaited<ReturnType<typeof listRevisionRows>>['items'][number];

/** An agent's organization and workspace; its revisions and references have the same. */
export interface AgentScope {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

function selectRevisions(agentId: Expression<string>) {
  return query
    .selectFrom('agent_revisions as v')
    .innerJoin('agents as a', 'a.id', 'v.agentId')
    .where('v.agentId', '=', agentId)
    .select(['v.id', 'v.agentId', 'v.number', sql<boolean>`coalesce(v.id = a.active_revision_id, false)`.as('isActive'), 'v.documentHash'])
    .select(['v.note', 'v.createdBy', 'v.createdAt']);
}

interface OneRevision {
  readonly agentId: string;
  readonly revisionId: string;
  readonly visible: Condition;
}

const oneRevision = prepared(({ agentId, revisionId, visible }: ParametersOf<OneRevision>) =>
  selectRevisions(agentId)
    .select(['v.document', 'a.workspaceId'])
    .where('v.id', '=', revisionId)
    .where('a.deletedAt', 'is', null)
    .where(visible),
);

/** Returns a revision of an agent that the caller sees. Throws 404, also for a revision of another agent. */
export async function readRevision(ctx: Scoped, agentId: string, revisionId: string) {
  const found = await row(ctx.em, oneRevision({ agentId, revisionId, visible: visibleToSql(ctx, Agent, 'a') }));
  const { workspaceId: _, ...revision } = seen(ctx, found);
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

const revisionPair = prepared(({ agentId, targetId, baseId, visible }: ParametersOf<ComparedPair & { readonly visible: Condition }>) =>
  query
    .selectFrom('agent_revisions as v')
    .innerJoin('agents as a', 'a.id', 'v.agentId')
    .where('v.id', '=', targetId)
    .where('v.agentId', '=', agentId)
    .where('a.deletedAt', 'is', null)
    .where(visible)
    .select('a.workspaceId')
    .select(sql<ComparedRevision>`jsonb_build_object('id', v.id, 'number', v.number, 'document', v.document)`.as('target'))
    .select(
      sql<ComparedRevision | null>`(
        select jsonb_build_object('id', b.id, 'number', b.number, 'document', b.document) from agent_revisions b
         where b.agent_id = a.id and b.id = coalesce(${baseId}::uuid, a.active_revision_id))`.as('base'),
    ),
);

/**
 * Returns two revisions of an agent that the caller sees, in one statement; `base` is null when the agent has no such revision. Throws 404 when the agent
 * or target is missing.
 */
export async function findRevisionPair(
  ctx: Scoped,
  { agentId, targetId, baseId }: ComparedPair,
): Promise<{ base: ComparedRevision | null; target: ComparedRevision }> {
  const found = await row(ctx.em, revisionPair({ agentId, targetId, baseId, visible: visibleToSql(ctx, Agent, 'a') }));
  const { base, target } = seen(ctx, found);
  return {
    base: base && { ...base, document: upgradeDocument(base.document) },
    target: { ...target, document: upgradeDocument(target.document) },
  };
}

const revisionList = preparedList(
  ({ agentId }: ParametersOf<{ readonly agentId: string }>) => selectRevisions(agentId),
  [{ column: 'v.id', type: 'uuid', descending: true }],
);

/** Lists the revisions of an agent that the caller may see, newest first, without documents. */
export function listRevisionRows(tx: Pick<TenantTransaction, 'em'>, agentId: string, page: PageRequest) {
  return revisionList(tx.em, { agentId }, page);
}
