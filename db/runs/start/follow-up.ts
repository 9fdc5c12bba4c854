import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement } from '../../sql.ts';
import type { FrameDraft } from '../../streams/frame.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { messageFrame } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { ContentBlock } from '../run-types.ts';

/** The platform's own next message to the model. */
export interface FollowUp {
  readonly messageId: string;
  readonly text: string;
}

interface FollowUpValues {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
  readonly turn: number;
  readonly pos: number;
  readonly content: JsonText<ContentBlock[]>;
}

const insertMessage = prepared((values: ParametersOf<FollowUpValues>) =>
  query.insertInto('messages').values({
    ...values,
    role: 'user',
    origin: 'system',
    content: jsonb(values.content),
    toolCallIds: sql<string[]>`'{}'`,
    state: 'pending',
    attempt: 1,
    createdAt: now,
  }),
);

/** Writes the platform's next message to the model, after the model's own message. */
export async function insertFollowUp(tx: TenantTransaction, run: RunState, { messageId, text }: FollowUp, pos: number): Promise<void> {
  await queueStatement(
    tx.em,
    insertMessage({
      id: messageId,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      conversationId: run.conversation_id,
      runId: run.id,
      turn: run.turn_no ?? 0,
      pos,
      content: jsonText([{ type: 'text', text }]),
    }),
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
