import { newId } from '../../ids.ts';
import { row } from '../../sql.ts';
import { appendFrames, stateBatch } from '../../streams/append.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { HistoryMessage } from '../read/history.ts';
import { messageFrame } from '../run-frames.ts';
import { identityOf, type RunState } from '../run-state.ts';

/** Before the input, which begins at 0. */
const place = -1;

/**
 * Keeps passages of knowledge bases as the system's message of a run, before its input, and tells of it. Once a run: a second try gets the message of the
 * first one, so that the prompt stays the same.
 */
export async function insertPassages(tx: TenantTransaction, run: RunState, text: string): Promise<HistoryMessage> {
  const id = newId();
  const content: ContentBlock[] = [{ type: 'text', text }];
  const turn = run.turn_no ?? 0;
  const kept = await row<{ id: string; content: ContentBlock[] }>(
    tx.em,
    `with added as (
       insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, state, attempt, created_at)
       values (?, ?, ?, ?, ?, ?, ?, 'system', 'system', ?::jsonb, 'pending', 1, now()) on conflict do nothing returning id, content
     )
     select id, content from added union all select m.id, m.content from messages m where m.run_id = ? and m.pos = ?`,
    [id, run.organization_id, run.workspace_id, run.conversation_id, run.id, turn, place, JSON.stringify(content), run.id, place],
  );
  const message = kept ?? { id, content };
  const told = {
    messageId: message.id,
    role: 'system' as const,
    step: null,
    model: null,
    stopReason: null,
    toolCallIds: [],
    origin: 'system' as const,
  };
  if (message.id === id) await appendFrames(tx, [stateBatch(identityOf(run), [messageFrame({ ...told, content: message.content })])]);
  return {
    id: message.id,
    role: 'system',
    origin: 'system',
    turn,
    is_own: true,
    content: message.content,
    provider_state: null,
    calls: [],
    answers: null,
  };
}
