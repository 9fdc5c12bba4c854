import fc from 'fast-check';
import { newId } from '../../db/ids.ts';
import type { FrameDraft } from '../../db/streams/frame.schema.ts';
import { call, completed, note, result } from './frame-samples.ts';

/** What one batch of a model run does. */
export type Move = 'text' | 'text' | 'complete' | 'call' | 'note' | 'retry';

export const moves = fc.array(fc.constantFrom<Move>('text', 'text', 'complete', 'call', 'note', 'retry'), { minLength: 1, maxLength: 25 });

/** Turns moves into batches of frames that the grammar allows: one step that streams, is retried, completes messages and calls tools. */
export class RunModel {
  attempt = 1;
  batch = 0;
  #open: { id: string; text: string } | null = null;

  /** The next batch of scope `s1`; a retry only raises the attempt, the next batch announces it. */
  step(move: Move): FrameDraft[] {
    if (move === 'retry') {
      this.attempt += 1;
      this.batch = 0;
      this.#open = null;
      return [];
    }
    this.batch += 1;
    if (move === 'note') return [note('something')];
    if (move === 'text') return [this.#delta('ab🙂')];
    return this.#complete(move === 'call');
  }

  /** Closes what is open, so that the run may end; of a lost attempt the batch itself tells. */
  close(): FrameDraft[] {
    this.batch += 1;
    return this.#open ? this.#complete(false) : [note('the end')];
  }

  #delta(text: string): FrameDraft {
    this.#open ??= { id: newId(), text: '' };
    const offset = this.#open.text.length;
    this.#open.text += text;
    return {
      type: 'message.delta',
      data: { message_id: this.#open.id, role: 'assistant', step: 1, index: 0, block: 'text', delta: text, offset },
    };
  }

  #complete(hasCall: boolean): FrameDraft[] {
    const { id, text } = this.#open ?? { id: newId(), text: '' };
    this.#open = null;
    if (!hasCall) return [completed(id, text)];
    const callId = newId();
    return [
      completed(id, text, { tool_call_ids: [callId] }),
      call(callId, id, { phase: 'ready', args: {} }),
      call(callId, id, { phase: 'executing' }),
      call(callId, id, { phase: 'progress' }),
      result(callId),
    ];
  }
}
