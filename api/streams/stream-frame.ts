import { ownTypeOf, seqOf, typeOf } from '../../db/streams/frame-text.ts';

/** A frame as it is delivered; it is encoded once for all readers. */
export interface StreamFrame {
  readonly seq: number;
  readonly text: string;
  /** Bytes of the text in memory, roughly. */
  readonly bytes: number;
  sse: Buffer | null;
}

export function streamFrame(text: string): StreamFrame {
  return { seq: seqOf(text), text, bytes: text.length, sse: null };
}

/** Returns the server-sent event of a frame. EventSource reports its own failures as `error`, so that frame type has another name. */
export function sseOf(frame: StreamFrame): Buffer {
  return (frame.sse ??= Buffer.from(`id: ${frame.seq}\nevent: ${eventName(typeOf(frame.text))}\ndata: ${frame.text}\n\n`));
}

/** The frame's text in UTF-8, as a WebSocket carries it. */
export function textBytesOf(frame: StreamFrame): Buffer {
  const event = sseOf(frame);
  return event.subarray(event.indexOf('data: ') + 6, -2);
}

export function eventName(type: string): string {
  return type === 'error' ? 'run.error' : type;
}

/** Whether a frame is the last of the stream: run.finished of the run itself, not a descendant's. */
export function isLast(frame: StreamFrame): boolean {
  return ownTypeOf(frame.text) === 'run.finished';
}

/** Whether a frame reports a change of the run's state. */
export function isStateChange(frame: StreamFrame): boolean {
  const type = ownTypeOf(frame.text);
  return type === 'run.status' || type === 'run.finished' || type === 'run.started';
}
