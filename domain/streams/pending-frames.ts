import type { FrameData, FrameDraft } from '../../db/streams/frame.schema.ts';

/** A part of a message's block, as the provider streams it. */
export interface TextDelta {
  readonly messageId: string;
  readonly step: number;
  readonly index: number;
  readonly block: FrameData<'message.delta'>['block'];
  readonly delta: string;
}

export interface ReasoningDelta {
  readonly messageId: string;
  readonly step: number;
  readonly index: number;
  readonly kind: FrameData<'reasoning.delta'>['kind'];
  readonly delta: string;
}

export type CallOfDelta = Omit<FrameData<'tool.call'>, 'phase' | 'args_delta'>;

/** The longest delta of one frame, in UTF-16 units: what merges while PostgreSQL is unavailable stays below the limit of a frame. */
const maxDeltaUnits = 32 * 1024;

interface Merging {
  text: string;
  readonly toDraft: (text: string) => FrameDraft;
}

/**
 * Frames of one writer that wait to be appended, in order. Texts of one block merge until a frame of another kind follows. Counts the offsets, holds back half
 * a surrogate pair, and turns U+0000 and lone surrogates into U+FFFD.
 */
export class PendingFrames {
  /** Approximate size of the waiting JSON text, in bytes. */
  bytes = 0;
  /** Whether a frame must not wait for the next interval: a frame that is no delta, or the first delta of a block. */
  isUrgent = false;

  #queue: (FrameDraft | Merging)[] = [];
  #open = new Map<string, Merging>();
  #blocks = new Map<string, { offset: number; carried: string }>();

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  delta(part: TextDelta): void {
    const { messageId, step, index, block } = part;
    this.#text(`m ${messageId} ${index}`, part.delta, (offset) => (delta) => ({
      type: 'message.delta',
      data: { message_id: messageId, role: 'assistant', step, index, block, delta, offset },
    }));
  }

  reasoning(part: ReasoningDelta): void {
    const { messageId, step, index, kind } = part;
    this.#text(`m ${messageId} ${index}`, part.delta, (offset) => (delta) => ({
      type: 'reasoning.delta',
      data: { message_id: messageId, step, index, offset, delta, kind },
    }));
  }

  argsDelta(call: CallOfDelta, text: string): void {
    this.#text(`c ${call.tool_call_id}`, text, () => (delta) => ({
      type: 'tool.call',
      data: { ...call, phase: 'args_delta', args_delta: delta },
    }));
  }

  frame(draft: FrameDraft): void {
    this.#queue.push(draft);
    this.#open.clear();
    this.bytes += JSON.stringify(draft.data).length + 400;
    this.isUrgent = true;
  }

  /** Returns all frames and empties the queue. */
  take(): FrameDraft[] {
    const frames = this.#queue.map((entry) => ('toDraft' in entry ? entry.toDraft(entry.text) : entry));
    this.#queue = [];
    this.#open.clear();
    this.bytes = 0;
    this.isUrgent = false;
    return frames;
  }

  #text(key: string, raw: string, draftAt: (offset: number) => Merging['toDraft']): void {
    const known = this.#blocks.get(key);
    const block = known ?? { offset: 0, carried: '' };
    if (!known) this.#blocks.set(key, block);

    let text = block.carried + raw;
    block.carried = endsInHalf(text) ? text.slice(-1) : '';
    if (block.carried) text = text.slice(0, -1);
    text = text.toWellFormed().replaceAll('\0', '\uFFFD');

    for (const chunk of chunksOf(text)) {
      const open = this.#open.get(key);
      if (open && open.text.length + chunk.length <= maxDeltaUnits) {
        open.text += chunk;
        this.bytes += chunk.length;
      } else {
        const merging = { text: chunk, toDraft: draftAt(block.offset) };
        this.#queue.push(merging);
        this.#open.set(key, merging);
        this.bytes += chunk.length + 400;
      }
      if (block.offset === 0) this.isUrgent = true;
      block.offset += chunk.length;
    }
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function* chunksOf(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + maxDeltaUnits, text.length);
    if (end < text.length && endsInHalf(text.slice(start, end))) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
}
