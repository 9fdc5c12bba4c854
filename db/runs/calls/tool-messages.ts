import { newId } from '../../ids.ts';
import { queueStatement } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunState } from '../run-state.ts';

/** A tool message: the answer to one call. Its position follows from the call's, so parallel calls need no order. */
export interface ToolMessage {
  readonly toolCallId: string;
  readonly step: number;
  readonly pos: number;
  readonly content: ContentBlock[];
}

/** Writes the answers that the model will read. A call is answered once; a second answer is dropped. */
export async function insertToolMessages(
  tx: TenantTransaction,
  run: Pick<RunState, 'id' | 'organization_id' | 'workspace_id' | 'conversation_id' | 'turn_no'>,
  messages: readonly ToolMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const listed = messages.map((message) => ({
    id: newId(),
    call: message.toolCallId,
    step: message.step,
    pos: message.pos,
    content: message.content,
  }));
  await queueStatement(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, tool_call_id, state, attempt, created_at)
     select m.id, ?, ?, ?, ?, ?, m.pos, m.step, 'tool', 'system', m.content, '{}', m.call, 'pending', 1, now()
       from jsonb_to_recordset(?::jsonb) as m(id uuid, call uuid, step int, pos int, content jsonb)
     on conflict (run_id, pos) do nothing`,
    [run.organization_id, run.workspace_id, run.conversation_id, run.id, run.turn_no ?? 0, JSON.stringify(listed)],
  );
}
