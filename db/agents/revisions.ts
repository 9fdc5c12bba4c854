import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fail } from '../../workflows/contracts/failure.ts';
import { creatorOf, type ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { inSightOf, seen, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Agent } from './agent.entity.ts';
import type { agentRefKinds } from './agent-ref.entity.ts';
import type { ResolvedRef, RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** A revision as it is read; lists leave the document out. */
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

/** Where an agent lives; its revisions and references carry the same. */
export interface AgentHome {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

export interface NewRevision {
  readonly agent: AgentHome;
  readonly document: RevisionDocument;
  readonly note: string | null;
  /** Refused with 409 `revision_base_stale` when it is not the newest; null takes any. */
  readonly baseRevisionId: string | null;
}

/** SHA-256 of the canonical JSON (RFC 8785) of a document, hexadecimal. */
function hashDocument(document: RevisionDocument): string {
  return createHash('sha256')
    .update(canonicalize(document) ?? '')
    .digest('hex');
}

/** Writes the next revision and what it refers to; never activates. The caller holds the agent's lock. */
export async function insertRevision(tx: TenantTransaction, revision: NewRevision): Promise<{ id: string; number: number }> {
  const { agent, document } = revision;
  const id = newId();
  const inserted = await row<{ number: number }>(
    tx.em,
    `insert into agent_revisions (id, agent_id, organization_id, workspace_id, number, document, document_hash, note, created_by, created_at)
     select ?::uuid, ?::uuid, ?::uuid, ?::uuid, coalesce(newest.number, 0) + 1, ?::jsonb, ?::text, ?::text, ?::jsonb, now()
       from (select 1) one left join lateral (select v.id, v.number from agent_revisions v where v.agent_id = ?::uuid order by v.number desc limit 1) newest on true
      where ?::uuid is null or newest.id = ?::uuid
     returning number`,
    [
      id,
      agent.id,
      agent.organizationId,
      agent.workspaceId,
      JSON.stringify(document),
      hashDocument(document),
      revision.note,
      JSON.stringify(creatorOf(tx.actor)),
      agent.id,
      revision.baseRevisionId,
      revision.baseRevisionId,
    ],
  );
  if (!inserted)
    throw fail('state_conflict', {
      reason: 'revision_base_stale',
      detail: 'The agent has a newer revision than the one this was made from.',
    });

  await insertRefs(tx, agent, { revisionId: id, targets: targetsOf(document) });
  return { id, number: inserted.number };
}

interface RefTarget {
  readonly kind: (typeof agentRefKinds)[number];
  readonly id: string;
}

function targetsOf({ tools, toolkits, skills, sub_agents: agents, knowledge }: RevisionDocument): RefTarget[] {
  const of = (kind: RefTarget['kind'], refs: readonly ResolvedRef[]) => refs.map(({ id }) => ({ kind, id }));
  return [
    ...of('tool', tools),
    ...of('toolkit', toolkits),
    ...of('skill', skills),
    ...of('sub_agent', agents),
    ...of('knowledge', knowledge),
  ];
}

async function insertRefs(
  tx: TenantTransaction,
  agent: AgentHome,
  refs: { readonly revisionId: string; readonly targets: readonly RefTarget[] },
): Promise<void> {
  const { targets } = refs;
  if (targets.length === 0) return;
  await rows(
    tx.em,
    `insert into agent_refs (id, organization_id, workspace_id, revision_id, persona_id, kind, target_id, created_at)
     select r.id, ?::uuid, ?::uuid, ?::uuid, null, r.kind, r.target_id, now() from unnest(?::uuid[], ?::text[], ?::uuid[]) as r (id, kind, target_id)`,
    [
      agent.organizationId,
      agent.workspaceId,
      refs.revisionId,
      targets.map(() => newId()),
      targets.map(({ kind }) => kind),
      targets.map(({ id }) => id),
    ],
  );
}

/** Makes a revision the agent's active one; false when it is so already. The caller holds the agent's lock and has validated the document. */
export async function setActiveRevision(tx: TenantTransaction, agentId: string, revisionId: string): Promise<boolean> {
  const changed = await rows(
    tx.em,
    `update agents set active_revision_id = ?, row_version = row_version + 1, updated_at = now() where id = ? and active_revision_id is distinct from ?::uuid returning id`,
    [revisionId, agentId, revisionId],
  );
  return changed.length > 0;
}

const listColumns =
  'v.id, v.agent_id, v.number, coalesce(v.id = a.active_revision_id, false) as is_active, v.document_hash, v.note, v.created_by, v.created_at';

/** One revision of an agent that the caller sees. Throws 404, also for another agent's. */
export async function readRevision(
  ctx: Scoped,
  agentId: string,
  revisionId: string,
): Promise<AgentRevisionRow & { readonly document: RevisionDocument }> {
  const visible = inSightOf(ctx, Agent, 'a');
  const found = await row<AgentRevisionRow & { document: RevisionDocument; workspace_id: string | null }>(
    ctx.em,
    `select ${listColumns}, v.document, a.workspace_id from agent_revisions v join agents a on a.id = v.agent_id
      where v.id = ? and v.agent_id = ? and a.deleted_at is null and ${visible.sql}`,
    [revisionId, agentId, ...visible.params],
  );
  const revision = seen(ctx, found);
  return { ...revision, document: upgradeDocument(revision.document) };
}

/** A revision to be compared. */
export interface ComparedRevision {
  readonly id: string;
  readonly number: number;
  readonly document: RevisionDocument;
}

/**
 * Two revisions of an agent that the caller sees, in one statement. `baseId` null takes the active one, and 409 `agent_inactive` when there is
 * none. Throws 404 for agent and target, 422 for a base that is not the agent's.
 */
export async function readRevisionPair(
  ctx: Scoped,
  asked: { readonly agentId: string; readonly targetId: string; readonly baseId: string | null },
): Promise<{ base: ComparedRevision; target: ComparedRevision }> {
  const visible = inSightOf(ctx, Agent, 'a');
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
  if (base === null && asked.baseId === null)
    throw fail('state_conflict', { reason: 'agent_inactive', detail: 'The agent has no active revision to compare with.' });
  if (base === null) {
    const message = 'The agent has no such revision.';
    throw fail('validation_failed', {
      detail: message,
      errors: [{ in: 'query', pointer: null, name: 'against', rule: 'reference', message }],
    });
  }
  return {
    base: { ...base, document: upgradeDocument(base.document) },
    target: { ...target, document: upgradeDocument(target.document) },
  };
}

/** Revisions of an agent that the caller has been shown, newest first, without documents. */
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
