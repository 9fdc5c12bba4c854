import { queueStatement } from '../../sql.ts';
import type { FrameDraft } from '../../streams/frame.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { messageFrame } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';

/** The platform's own next message to the model. */
export interface FollowUp {
  readonly messageId: string;
  readonly text: string;
}

/** Writes the platform's next message to the model, after the model's own message. */
export async function insertFollowUp(tx: TenantTransaction, run: RunState, { messageId, text }: FollowUp, pos: number): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, state, attempt, created_at)
     values (?, ?, ?, ?, ?, ?, ?, null, 'user', 'system', ?::jsonb, '{}', 'pending', 1, now())`,
    [
      messageId,
      run.organization_id,
      run.workspace_id,
      run.conversation_id,
      run.id,
      run.turn_no ?? 0,
      pos,
      JSON.stringify([{ type: 'text', text }]),
    ],
  );
}

export function followUpFrame({ messageId, text }: FollowUp): FrameDraft {
  return messageFrame({
    messageId,
    role: 'user',
    step: null,
    model: null,
    stopReason: null,
    content: [{ type: 'text', text }],
    toolCallIds: [],
    origin: 'system',
  });
}
