import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { creatorOf } from '../../actor-ref.ts';
import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { agentRefKinds } from '../agent-ref.entity.ts';
import type { ResolvedRef, RevisionDocument } from './revision-document.ts';
import type { AgentScope } from './revisions.ts';

export interface NewRevision {
  readonly agent: AgentScope;
  readonly document: RevisionDocument;
  readonly note: string | null;
  /** Nothing is written unless this is the newest revision; null accepts any. */
  readonly baseRevisionId: string | null;
}

/** Returns the SHA-256 of a document's canonical JSON (RFC 8785), in hexadecimal. */
function hashDocument(document: RevisionDocument): string {
  return createHash('sha256')
    .update(canonicalize(document) ?? '')
    .digest('hex');
}

/** Writes the next revision and its references. Returns null when the newest revision is not its base. The caller holds the agent's lock. */
export async function insertRevisionRows(tx: TenantTransaction, revision: NewRevision): Promise<{ id: string; number: number } | null> {
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
  if (!inserted) return null;

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
  agent: AgentScope,
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

/** Sets the active revision of an agent; returns false when it already is the active one. The caller holds the agent's lock. */
export async function setActiveRevision(tx: TenantTransaction, agentId: string, revisionId: string): Promise<boolean> {
  const changed = await rows(
    tx.em,
    `update agents set active_revision_id = ?, row_version = row_version + 1, updated_at = now() where id = ? and active_revision_id is distinct from ?::uuid returning id`,
    [revisionId, agentId, revisionId],
  );
  return changed.length > 0;
}
