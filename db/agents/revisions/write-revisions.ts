import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { sql, type SqlBool } from 'kysely';
import { creatorOf } from '../../actor-ref.ts';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
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

interface RevisionValues {
  readonly id: string;
  readonly agentId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly document: JsonText<RevisionDocument>;
  readonly documentHash: string;
  readonly note: string | null;
  readonly createdBy: JsonText<ReturnType<typeof creatorOf>>;
  readonly baseRevisionId: string | null;
}

const nextRevision = prepared((p: ParametersOf<RevisionValues>) => {
  const newest = query
    .selectFrom('agent_revisions as v')
    .select(['v.id', 'v.number'])
    .where('v.agentId', '=', p.agentId)
    .orderBy('v.number', 'desc')
    .limit(sql.lit(1));
  const source = query
    .selectFrom(sql<{ one: number }>`(select 1)`.as('one'))
    .leftJoinLateral(newest.as('newest'), (join) => join.onTrue())
    .where(sql<SqlBool>`(${p.baseRevisionId}::uuid is null or newest.id = ${p.baseRevisionId}::uuid)`);
  return insertFrom('agent_revisions', source, () => ({
    id: p.id,
    agentId: p.agentId,
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    number: sql<number>`coalesce(newest.number, 0) + 1`,
    document: jsonb(p.document),
    documentHash: p.documentHash,
    note: p.note,
    createdBy: jsonb(p.createdBy),
    createdAt: now,
  })).returning('number');
});

/** Writes the next revision and its references. Returns null when the newest revision is not its base. The caller holds the agent's lock. */
export async function insertRevisionRows(tx: TenantTransaction, revision: NewRevision): Promise<{ id: string; number: number } | null> {
  const { agent, document, note, baseRevisionId } = revision;
  const id = newId();
  const inserted = await row(
    tx.em,
    nextRevision({
      id,
      agentId: agent.id,
      organizationId: agent.organizationId,
      workspaceId: agent.workspaceId,
      document: jsonText(document),
      documentHash: hashDocument(document),
      note,
      createdBy: jsonText(creatorOf(tx.actor)),
      baseRevisionId,
    }),
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

interface NewRefs {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly revisionId: string;
  readonly ids: readonly string[];
  readonly kinds: readonly RefTarget['kind'][];
  readonly targetIds: readonly string[];
}

const newRefs = prepared((p: ParametersOf<NewRefs>) => {
  const refs = sql<{
    id: string;
    kind: RefTarget['kind'];
    targetId: string;
  }>`unnest(${p.ids}::uuid[], ${p.kinds}::text[], ${p.targetIds}::uuid[])`;
  return insertFrom('agent_refs', query.selectFrom(refs.as<'r'>(sql`r (id, kind, target_id)`)), ({ ref }) => ({
    id: ref('r.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    revisionId: p.revisionId,
    personaId: sql.lit(null),
    kind: ref('r.kind'),
    targetId: ref('r.targetId'),
    createdAt: now,
  }));
});

async function insertRefs(
  tx: TenantTransaction,
  { organizationId, workspaceId }: AgentScope,
  { revisionId, targets }: { readonly revisionId: string; readonly targets: readonly RefTarget[] },
): Promise<void> {
  if (targets.length === 0) return;
  const ids = targets.map(() => newId());
  const named = { kinds: targets.map(({ kind }) => kind), targetIds: targets.map(({ id }) => id) };
  await change(tx.em, newRefs({ organizationId, workspaceId, revisionId, ids, ...named }));
}

const activated = prepared(({ agentId, revisionId }: ParametersOf<{ readonly agentId: string; readonly revisionId: string }>) =>
  query
    .updateTable('agents')
    .set(({ eb }) => ({ activeRevisionId: revisionId, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
    .where('id', '=', agentId)
    .where('activeRevisionId', 'is distinct from', revisionId)
    .returning('id'),
);

/** Sets the active revision of an agent; returns false when it already is the active one. The caller holds the agent's lock. */
export async function setActiveRevision(tx: TenantTransaction, agentId: string, revisionId: string): Promise<boolean> {
  return (await row(tx.em, activated({ agentId, revisionId }))) !== null;
}
