import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ContentBlock } from '../run-types.ts';

/** Maximum number of messages that a fork copies; of a longer history it copies the newest whole turns. */
export const limitCopied = 2_000;

/** A message from which a conversation is forked. */
export interface ForkPoint {
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly content: readonly ContentBlock[];
  /** The messages before it, and the message itself unless it is a user's: oldest first, with turns renumbered from 1. */
  readonly copied: readonly { readonly id: string; readonly turn: number }[];
  /** How many turns `copied` has. */
  readonly turns: number;
}

/** The run whose conversation is forked. */
export interface ForkedRun {
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly conversation_id: string;
  readonly turn_no: number | null;
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
  readonly persona_slug: string | null;
}

interface ForkRun {
  readonly id: string;
  readonly conversationId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/**
 * Copies messages into the first run of a fork, before its own, with the files that they name. The copies still name the calls of the original, whose rows
 * serve both. They have no step, since no step of this run produced them.
 */
export async function copyMessages(tx: TenantTransaction, run: ForkRun, copied: ForkPoint['copied']): Promise<void> {
  if (copied.length === 0) return;
  const drafts = copied.map(({ id, turn }, pos) => ({ id: newId(), source: id, turn, pos }));
  await rows(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, tool_call_id, model,
       stop_reason, state, provider_state, attempt, created_at)
     select d.id, ?, ?, ?, ?, d.turn, d.pos, null, m.role, m.origin, m.content, m.tool_call_ids, m.tool_call_id, m.model,
            m.stop_reason, 'committed', null, 1, m.created_at
       from jsonb_to_recordset(?::jsonb) as d(id uuid, source uuid, turn int, pos int) join messages m on m.id = d.source`,
    [run.organizationId, run.workspaceId, run.conversationId, run.id, JSON.stringify(drafts)],
  );
  await holdFiles(tx, run);
}

/** A file stays stored and visible as long as some run that names it does. */
async function holdFiles(tx: TenantTransaction, run: ForkRun): Promise<void> {
  const named = await rows<{ id: string }>(
    tx.em,
    `select distinct a.id from messages m cross join jsonb_array_elements(m.content) as b(block) join attachments a on a.id = (b.block ->> 'attachment_id')::uuid
      where m.run_id = ? and m.state = 'committed' and b.block ->> 'type' = 'attachment'`,
    [run.id],
  );
  if (named.length === 0) return;
  const links = named.map(({ id }) => ({ id: newId(), attachment: id }));
  await rows(
    tx.em,
    `with held as (update attachments set expires_at = null where id = any (?::uuid[]) returning id)
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, created_at)
     select l.id, held.id, ?, ?, 'run', ?, ?, now() from jsonb_to_recordset(?::jsonb) as l(id uuid, attachment uuid) join held on held.id = l.attachment
     on conflict do nothing`,
    [named.map(({ id }) => id), run.organizationId, run.workspaceId, run.id, run.conversationId, JSON.stringify(links)],
  );
}

/** Returns a committed message of the run's conversation that is not after the run's turn, or null. */
export function readMessage(
  tx: TenantTransaction,
  run: Pick<ForkedRun, 'conversation_id' | 'turn_no'>,
  messageId: string,
): Promise<(Pick<ForkPoint, 'role' | 'content'> & { readonly turn: number; readonly pos: number }) | null> {
  return row(
    tx.em,
    `select m.role, m.content, m.turn, m.pos from messages m
      where m.id = ? and m.conversation_id = ? and m.state = 'committed' and m.turn <= ?`,
    [messageId, run.conversation_id, run.turn_no ?? 0],
  );
}

/** Returns what was committed in a conversation before a message, newest first: one more than a fork copies. `isIncluded`: includes the message itself. */
export function readBefore(
  tx: TenantTransaction,
  conversationId: string,
  { turn, pos, isIncluded }: { readonly turn: number; readonly pos: number; readonly isIncluded: boolean },
): Promise<{ id: string; turn: number }[]> {
  return rows<{ id: string; turn: number }>(
    tx.em,
    `select m.id, m.turn from messages m
      where m.conversation_id = ? and m.state = 'committed' and (m.turn, m.pos) ${isIncluded ? '<=' : '<'} (?, ?)
      order by m.turn desc, m.pos desc limit ${limitCopied + 1}`,
    [conversationId, turn, pos],
  );
}

/** Writes the conversation of a fork. Returns false when the session key already has a conversation. */
export async function insertForked(
  tx: TenantTransaction,
  run: ForkedRun,
  { id, sessionKey, turns }: { readonly id: string; readonly sessionKey: string | null; readonly turns: number },
): Promise<boolean> {
  const made = await rows(
    tx.em,
    `insert into conversations (id, organization_id, workspace_id, agent_id, subject_kind, subject_id, session_key, persona_slug, queue_length, next_queue_no, turn_no)
     values (?, ?, ?, ?, ?, ?, ?, ?, 0, 1, ?) on conflict do nothing returning id`,
    [id, run.organization_id, run.workspace_id, run.agent_id, run.subject_kind, run.subject_id, sessionKey, run.persona_slug, turns],
  );
  return made.length > 0;
}
