import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A tool message: the answer to one call. Its position follows from the call's, so parallel calls need no order. */
export interface ToolMessage {
  readonly toolCallId: string;
  readonly step: number;
  readonly pos: number;
  readonly content: ContentBlock[];
}

/** The run whose calls are answered. */
interface AnsweredRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly turnNo: number | null;
}

interface NewAnswers {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
  readonly turn: number;
  readonly answers: JsonText<readonly ReturnType<typeof listedAnswer>[]>;
}

function listedAnswer({ toolCallId: call, step, pos, content }: ToolMessage) {
  return { id: newId(), call, step, pos, content };
}

const newAnswers = prepared((p: ParametersOf<NewAnswers>) => {
  const answers = recordset(p.answers, 'm', { id: 'uuid', call: 'uuid', step: 'int', pos: 'int', content: 'jsonb' });
  return insertFrom('messages', query.selectFrom(answers), ({ ref }) => ({
    id: ref('m.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    conversationId: p.conversationId,
    runId: p.runId,
    turn: p.turn,
    pos: ref('m.pos'),
    step: ref('m.step'),
    role: sql.lit('tool'),
    origin: sql.lit('system'),
    content: ref('m.content'),
    toolCallIds: sql<string[]>`'{}'`,
    toolCallId: ref('m.call'),
    state: sql.lit('pending'),
    attempt: sql.lit(1),
    createdAt: now,
  })).onConflict((conflict) => conflict.columns(['runId', 'pos']).doNothing());
});

/** Writes the answers that the model will read. A call is answered once; a second answer is dropped. */
export async function insertToolMessages(
  tx: TenantTransaction,
  { id: runId, organizationId, workspaceId, conversationId, turnNo }: AnsweredRun,
  messages: readonly ToolMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const answers = jsonText(messages.map(listedAnswer));
  await queueStatement(tx.em, newAnswers({ organizationId, workspaceId, conversationId, runId, turn: turnNo ?? 0, answers }));
}
