import { sql, type OnConflictBuilder } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import { anyId, literal, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { conversationColumns, type ConversationRow } from './conversations.ts';
import type { StartRun } from './start-run.ts';
import type { StartTarget } from './start-target.ts';

interface Resolved {
  readonly start: StartRun;
  readonly target: StartTarget;
}

/** Returns the key of a start's conversation within a batch; null: a new conversation for this start alone. */
export function conversationKeyOf({ continued, sessionKey, subject }: StartRun, { workspaceId, agentId }: StartTarget): string | null {
  if (continued) return continued.conversationId;
  if (sessionKey === null) return null;
  return JSON.stringify([workspaceId, agentId, subject?.kind ?? null, subject?.id ?? null, sessionKey]);
}

/**
 * Finds or creates the conversations of starts and locks them until the end of the transaction; the map's keys are those of `conversationKeyOf`. One statement
 * handles all session keys: existing conversations by ascending id, like every other transaction, then the new ones.
 */
export async function lockConversations(tx: TenantTransaction, starts: readonly Resolved[]): Promise<Map<string, ConversationRow>> {
  const locked = new Map<string, ConversationRow>();
  const keyed = new Map<string, Resolved>();
  for (const resolved of starts) {
    const session = conversationKeyOf(resolved.start, resolved.target);
    if (session !== null && !resolved.start.continued) keyed.set(session, resolved);
  }
  const [only] = keyed;
  if (only && keyed.size === 1) locked.set(only[0], await lockSession(tx, only[1]));
  else if (keyed.size > 1) for (const row of await lockMany(tx, keyed)) locked.set(row.session, row);

  const continued = starts.flatMap(({ start }) => start.continued?.conversationId ?? []);
  for (const row of await lockById(tx, continued)) locked.set(row.id, row);
  if (continued.some((id) => !locked.has(id))) throw fail('not_found');
  return locked;
}

function lockSession(tx: TenantTransaction, { start, target }: Resolved): Promise<ConversationRow> {
  const { organizationId, workspaceId, agentId } = target;
  return lockNamedSession(tx, { organizationId, workspaceId, agentId, subject: start.subject, sessionKey: start.sessionKey });
}

/** The columns that identify a conversation. */
export interface SessionName {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly subject: StartRun['subject'];
  readonly sessionKey: string | null;
}

const newSession = {
  queueLength: literal(0),
  nextQueueNo: literal(1),
  turnNo: literal(0),
  createdAt: now,
};

/** The update changes nothing; it is the lock. The persona is stored when the run is written, since the start may still be refused. */
function orLock(conflict: OnConflictBuilder<Tables, 'conversations'>) {
  return conflict
    .columns(['workspaceId', 'agentId', 'subjectKind', 'subjectId', 'sessionKey'])
    .where('sessionKey', 'is not', null)
    .doUpdateSet(({ ref }) => ({ personaSlug: ref('conversations.personaSlug') }));
}

interface SessionValues {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly subjectKind: 'user' | 'guest' | null;
  readonly subjectId: string | null;
  readonly sessionKey: string | null;
}

const oneSession = prepared((values: ParametersOf<SessionValues>) =>
  query
    .insertInto('conversations')
    .values({ ...values, ...newSession })
    .onConflict(orLock)
    .returning(conversationColumns),
);

/** Finds or creates one conversation and locks it until the end of the transaction. */
export async function lockNamedSession(tx: TenantTransaction, name: SessionName): Promise<ConversationRow> {
  const { organizationId, workspaceId, agentId, subject, sessionKey } = name;
  const [conversation] = await rows(
    tx.em,
    oneSession({
      id: newId(),
      organizationId,
      workspaceId,
      agentId,
      subjectKind: subject?.kind ?? null,
      subjectId: subject?.id ?? null,
      sessionKey,
    }),
  );
  if (!conversation) throw new Error('the conversation upsert returned no row');
  return conversation;
}

const sessionColumns = ['workspaceId', 'agentId', 'subjectKind', 'subjectId', 'sessionKey'] as const;

interface SessionKey {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly session_key: string | null;
}

const manySessions = prepared(({ keys }: ParametersOf<{ readonly keys: JsonText<readonly SessionKey[]> }>) => {
  const asked = recordset(keys, 'k', {
    id: 'uuid',
    organization_id: 'uuid',
    workspace_id: 'uuid',
    agent_id: 'uuid',
    subject_kind: 'text',
    subject_id: 'text',
    session_key: 'text',
  });
  const existing = sql<{ id: string }>`(
    select e.id from conversations e where (e.workspace_id, e.agent_id, e.subject_kind, e.subject_id, e.session_key) = (k.workspace_id, k.agent_id, k.subject_kind, k.subject_id, k.session_key)
    union all
    select e.id from conversations e where (e.workspace_id, e.agent_id, e.session_key) = (k.workspace_id, k.agent_id, k.session_key)
       and e.subject_kind is null and e.subject_id is null and k.subject_kind is null)`;
  const ordered = query
    .selectFrom(asked)
    .leftJoinLateral(existing.as('e'), (join) => join.onTrue())
    .orderBy('e.id', (order) => order.asc().nullsLast())
    .orderBy('k.workspace_id')
    .orderBy('k.agent_id')
    .orderBy('k.subject_kind')
    .orderBy('k.subject_id')
    .orderBy('k.session_key');
  return insertFrom('conversations', ordered, ({ ref }) => ({
    id: ref('k.id'),
    organizationId: ref('k.organization_id'),
    workspaceId: ref('k.workspace_id'),
    agentId: ref('k.agent_id'),
    subjectKind: ref('k.subject_kind'),
    subjectId: ref('k.subject_id'),
    sessionKey: ref('k.session_key'),
    ...newSession,
  }))
    .onConflict(orLock)
    .returning(conversationColumns)
    .returning(sessionColumns);
});

async function lockMany(tx: TenantTransaction, keyed: ReadonlyMap<string, Resolved>) {
  const keys = [...keyed.values()].map(({ start, target }) => ({
    id: newId(),
    organization_id: target.organizationId,
    workspace_id: target.workspaceId,
    agent_id: target.agentId,
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    session_key: start.sessionKey,
  }));
  const locked = await rows(tx.em, manySessions({ keys: jsonText(keys) }));
  return locked.map((row) => ({ ...row, session: nameOf(row) }));
}

function nameOf(row: Pick<SessionValues, (typeof sessionColumns)[number]>): string {
  return JSON.stringify([row.workspaceId, row.agentId, row.subjectKind, row.subjectId, row.sessionKey]);
}

const byIds = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query.selectFrom('conversations').select(conversationColumns).where('id', '=', anyId(ids)).orderBy('id').forNoKeyUpdate(),
);

/** Locks conversations by id; the caller has checked that they belong to the tenant. */
async function lockById(tx: TenantTransaction, ids: readonly string[]): Promise<ConversationRow[]> {
  return ids.length === 0 ? [] : rows(tx.em, byIds({ ids }));
}
