import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Actor } from '../caller.ts';
import { newId } from '../ids.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import { Agent } from './agent.entity.ts';
import type { RevisionDocument } from './revision-document.ts';

export interface RevisionActor {
  readonly kind: 'user' | 'service_key' | 'agent' | 'system';
  readonly id: string | null;
}

/** A revision as it is read; lists leave the document out. */
export interface AgentRevisionRow {
  readonly id: string;
  readonly agent_id: string;
  readonly number: number;
  readonly is_active: boolean;
  readonly document?: RevisionDocument;
  readonly document_hash: string;
  readonly note: string | null;
  readonly created_by: RevisionActor;
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
export async function insertRevision(unit: Unit, revision: NewRevision): Promise<{ id: string; number: number }> {
  const { agent, document } = revision;
  const id = newId();
  const inserted = await row<{ number: number }>(
    unit.em,
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
      JSON.stringify(creatorOf(unit.actor)),
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

  await insertRefs(unit, agent, { revisionId: id, toolIds: document.tools.map((tool) => tool.id) });
  return { id, number: inserted.number };
}

async function insertRefs(
  unit: Unit,
  agent: AgentHome,
  refs: { readonly revisionId: string; readonly toolIds: readonly string[] },
): Promise<void> {
  if (refs.toolIds.length === 0) return;
  await rows(
    unit.em,
    `insert into agent_refs (id, organization_id, workspace_id, revision_id, persona_id, kind, target_id, created_at)
     select r.id, ?::uuid, ?::uuid, ?::uuid, null, 'tool', r.target_id, now() from unnest(?::uuid[], ?::uuid[]) as r (id, target_id)`,
    [agent.organizationId, agent.workspaceId, refs.revisionId, refs.toolIds.map(() => newId()), refs.toolIds],
  );
}

/** Makes a revision the agent's active one; false when it is so already. The caller holds the agent's lock and has validated the document. */
export async function setActiveRevision(unit: Unit, agentId: string, revisionId: string): Promise<boolean> {
  const changed = await rows(
    unit.em,
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
  const visible = visibleTo(ctx, Agent, 'a');
  const found = await row<AgentRevisionRow & { document: RevisionDocument }>(
    ctx.em,
    `select ${listColumns}, v.document from agent_revisions v join agents a on a.id = v.agent_id
      where v.id = ? and v.agent_id = ? and a.deleted_at is null and ${visible.sql}`,
    [revisionId, agentId, ...visible.params],
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Revisions of an agent that the caller has been shown, newest first, without documents. */
export function listRevisionRows(unit: Pick<Unit, 'em'>, agentId: string, page: PageRequest): Promise<Page<AgentRevisionRow>> {
  return fetchPage<AgentRevisionRow>(unit.em, {
    select: listColumns,
    from: 'agent_revisions v join agents a on a.id = v.agent_id',
    where: 'v.agent_id = ?',
    params: [agentId],
    order: [{ column: 'v.id', type: 'uuid', descending: true }],
    page,
  });
}

function creatorOf(actor: Actor): RevisionActor {
  switch (actor.kind) {
    case 'user':
    case 'operator':
      return { kind: 'user', id: actor.actingUserId ?? actor.id };
    case 'service_key':
      return { kind: 'service_key', id: actor.id };
    case 'agent_run':
      return { kind: 'agent', id: actor.id };
    case 'oauth_client':
    case 'ingress':
    case 'system':
      return { kind: 'system', id: null };
    default:
      return actor.kind satisfies never;
  }
}
