import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';
import { parseFrame } from './frame-text.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Returns the messages of a run that have deltas but are neither completed nor discarded; the transaction that ends the run closes them. */
export async function openMessages(em: SqlEntityManager, runId: string): Promise<string[]> {
  const open = await rows<{ id: string }>(em, 'select unnest(open_message_ids) as id from run_stream_scopes where run_id = ? order by id', [
    runId,
  ]);
  return open.map((row) => row.id);
}

/** What was streamed of one block. */
export interface OpenBlock {
  readonly index: number;
  readonly block: 'text' | 'refusal' | 'json' | 'reasoning';
  readonly text: string;
}

export interface OpenMessage {
  readonly step: number;
  /** By ascending index. */
  readonly blocks: readonly OpenBlock[];
}

/** Assembles a message from its archived deltas; returns null when it has none. */
export async function readOpenMessage(em: SqlEntityManager, runId: string, messageId: string): Promise<OpenMessage | null> {
  const deltas = await rows<{ text: string }>(
    em,
    `select frame as text from run_frame_chunks, unnest(frames) with ordinality as f(frame, n)
     where run_id = ? and position(? in frame) > 0 and (position('"type":"message.delta"' in left(frame, 120)) > 0 or position('"type":"reasoning.delta"' in left(frame, 120)) > 0)
     order by first_seq, n`,
    [runId, `"message_id":"${messageId}"`],
  );

  const blocks = new Map<number, { index: number; block: OpenBlock['block']; text: string }>();
  let step: number | null = null;
  for (const { text } of deltas) {
    const frame = parseFrame(text);
    if (frame.type !== 'message.delta' && frame.type !== 'reasoning.delta') continue;
    if (frame.data.message_id !== messageId) continue;
    step = frame.data.step;
    const block = frame.type === 'message.delta' ? frame.data.block : 'reasoning';
    const known = blocks.get(frame.data.index) ?? { index: frame.data.index, block, text: '' };
    blocks.set(frame.data.index, { ...known, text: known.text + frame.data.delta });
  }
  return step === null ? null : { step, blocks: [...blocks.values()].toSorted((left, right) => left.index - right.index) };
}

/** Returns the text that a run has written so far of its current message; empty when there is none. */
export async function newestOpenText({ em }: Pick<TenantTransaction, 'em'>, runId: string): Promise<string> {
  const newest = (await openMessages(em, runId)).at(-1);
  const message = newest === undefined ? null : await readOpenMessage(em, runId, newest);
  return (message?.blocks ?? [])
    .filter(({ block }) => block === 'text')
    .map(({ text }) => text)
    .join('');
}
