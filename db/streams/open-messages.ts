import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import { parseFrame } from './frame-text.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The frames of the chunks `c` as rows; `n` counts them within their chunk. */
export const numberedFrames = sql<{ text: string; n: number }>`unnest(c.frames) with ordinality`.as<'f'>(sql`f (text, n)`);

const openIds = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('run_stream_scopes')
    .select(({ ref }) => sql<string>`unnest(${ref('openMessageIds')})`.as('id'))
    .where('runId', '=', runId)
    .orderBy('id'),
);

/** Returns the messages of a run that have deltas but are neither completed nor discarded; the transaction that ends the run closes them. */
export async function openMessages(em: SqlEntityManager, runId: string): Promise<string[]> {
  return (await rows(em, openIds({ runId }))).map(({ id }) => id);
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

const deltasOf = prepared(({ runId, mark }: ParametersOf<{ readonly runId: string; readonly mark: string }>) =>
  query
    .selectFrom(['run_frame_chunks as c', numberedFrames])
    .select('f.text')
    .where('c.runId', '=', runId)
    .where(sql<boolean>`position(${mark} in f.text) > 0`)
    .where(
      sql<boolean>`(position('"type":"message.delta"' in left(f.text, 120)) > 0 or position('"type":"reasoning.delta"' in left(f.text, 120)) > 0)`,
    )
    .orderBy('c.firstSeq')
    .orderBy('f.n'),
);

/** Assembles a message from its archived deltas; returns null when it has none. */
export async function readOpenMessage(em: SqlEntityManager, runId: string, messageId: string): Promise<OpenMessage | null> {
  const deltas = await rows(em, deltasOf({ runId, mark: `"message_id":"${messageId}"` }));

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
