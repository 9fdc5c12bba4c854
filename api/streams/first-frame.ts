import Type from 'typebox';
import { fail } from '../../workflows/contracts/failure.ts';

/** The first message of a client, due within 5 s; it consumes the token. */
export const FirstFrameSchema = Type.Object({
  type: Type.Literal('auth'),
  token: Type.String({ maxLength: 100, description: 'From createStreamToken; valid for one run and one socket.' }),
  after_seq: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
  replay: Type.Optional(Type.Boolean({ default: true })),
});

export const maxFirstFrameBytes = 4 * 1024;

export interface FirstFrame {
  readonly token: string;
  readonly afterSeq: number;
  readonly isReplay: boolean;
}

/** Parses the first message. Throws `malformed_request` for anything else. */
export function parseFirstFrame(message: Buffer, isBinary: boolean): FirstFrame {
  const bad = (detail: string) => fail('malformed_request', { reason: 'bad_first_frame', detail });
  if (isBinary || message.byteLength > maxFirstFrameBytes) throw bad('The first message must be a text of at most 4 KiB.');

  const value = parsed(message);
  if (typeof value !== 'object' || value === null) throw bad('The first message must be a JSON object.');
  const { type, token, after_seq: afterSeq = 0, replay = true } = value as Record<string, unknown>; // any JSON object has string keys
  if (type !== 'auth' || typeof token !== 'string') throw bad('The first message must have the type auth and a token.');
  if (typeof afterSeq !== 'number' || !Number.isSafeInteger(afterSeq) || afterSeq < 0) throw bad('after_seq must be a whole number.');
  if (typeof replay !== 'boolean') throw bad('replay must be true or false.');
  return { token, afterSeq, isReplay: replay };
}

function parsed(message: Buffer): unknown {
  try {
    return JSON.parse(message.toString('utf8'));
  } catch {
    return null;
  }
}
