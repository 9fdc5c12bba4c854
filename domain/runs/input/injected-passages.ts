import { newId } from '../../../db/ids.ts';
import { appendFrames, stateBatch } from '../../../db/streams/append.ts';
import type { ContentBlock } from '../../../db/streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { HistoryMessage } from '../../../db/runs/read/history.ts';
import { messageFrame } from '../../../db/runs/run-frames.ts';
import { identityOf, type RunState } from '../../../db/runs/run-state.ts';
import { storePassages } from '../../../db/runs/input/input-rows.ts';

/**
 * Stores passages of knowledge bases as a system message of a run, before its input, and writes its frame. Once per run: a second try gets the message of the
 * first one, so that the prompt stays the same.
 */
export async function insertPassages(tx: TenantTransaction, run: RunState, text: string): Promise<HistoryMessage> {
  const id = newId();
  const content: ContentBlock[] = [{ type: 'text', text }];
  const turn = run.turn_no ?? 0;
  const kept = await storePassages(tx, run, { id, turn, content });
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
    isOwn: true,
    content: message.content,
    providerState: null,
    calls: [],
    answers: null,
  };
}
