import { fail } from '../../../workflows/contracts/failure.ts';
import { newId } from '../../ids.ts';
import { rows } from '../../sql.ts';
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

// The update changes nothing; it is the lock. The persona is stored when the run is written, since the start may still be refused.
const keepLock = `on conflict (workspace_id, agent_id, subject_kind, subject_id, session_key) where session_key is not null
  do update set persona_slug = c.persona_slug`;

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

/** Finds or creates one conversation and locks it until the end of the transaction. */
export async function lockNamedSession(tx: TenantTransaction, name: SessionName): Promise<ConversationRow> {
  const { organizationId, workspaceId, agentId, subject, sessionKey } = name;
  const [conversation] = await rows<ConversationRow>(
    tx.em,
    `insert into conversations as c (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, queue_length, next_queue_no, turn_no, created_at)
     values (?, ?, ?, ?, ?, ?, ?, 0, 1, 0, now())
     ${keepLock} returning ${conversationColumns}`,
    [newId(), organizationId, workspaceId, agentId, subject?.kind ?? null, subject?.id ?? null, sessionKey],
  );
  if (!conversation) throw new Error('the conversation upsert returned no row');
  return conversation;
}

function lockMany(tx: TenantTransaction, keyed: ReadonlyMap<string, Resolved>): Promise<(ConversationRow & { session: string })[]> {
  const keys = [...keyed.values()].map(({ start, target }) => ({
    id: newId(),
    organization_id: target.organizationId,
    workspace_id: target.workspaceId,
    agent_id: target.agentId,
    subject_kind: start.subject?.kind ?? null,
    subject_id: start.subject?.id ?? null,
    session_key: start.sessionKey,
  }));
  return rows<Omit<ConversationRow, never> & SessionColumns>(
    tx.em,
    `insert into conversations as c (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, queue_length, next_queue_no, turn_no, created_at)
     select k.id, k.organization_id, k.workspace_id, k.agent_id, k.subject_kind, k.subject_id, k.session_key, 0, 1, 0, now()
       from jsonb_to_recordset(?::jsonb) as k (id uuid, organization_id uuid, workspace_id uuid, agent_id uuid, subject_kind text, subject_id text, session_key text)
       left join lateral (
         select e.id from conversations e where (e.workspace_id, e.agent_id, e.subject_kind, e.subject_id, e.session_key) = (k.workspace_id, k.agent_id, k.subject_kind, k.subject_id, k.session_key)
         union all
         select e.id from conversations e where (e.workspace_id, e.agent_id, e.session_key) = (k.workspace_id, k.agent_id, k.session_key)
            and e.subject_kind is null and e.subject_id is null and k.subject_kind is null) e on true
      order by e.id nulls last, k.workspace_id, k.agent_id, k.subject_kind, k.subject_id, k.session_key
     ${keepLock} returning ${conversationColumns}, c.workspace_id, c.agent_id, c.subject_kind, c.subject_id, c.session_key`,
    [JSON.stringify(keys)],
  ).then((locked) => locked.map((row) => ({ ...row, session: nameOf(row) })));
}

interface SessionColumns {
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
  readonly session_key: string;
}

function nameOf(row: SessionColumns): string {
  return JSON.stringify([row.workspace_id, row.agent_id, row.subject_kind, row.subject_id, row.session_key]);
}

/** Locks conversations by id; the caller has checked that they belong to the tenant. */
async function lockById(tx: TenantTransaction, ids: readonly string[]): Promise<ConversationRow[]> {
  if (ids.length === 0) return [];
  return rows<ConversationRow>(
    tx.em,
    `select ${conversationColumns} from conversations c where c.id = any (?::uuid[]) order by c.id for no key update`,
    [ids],
  );
}
