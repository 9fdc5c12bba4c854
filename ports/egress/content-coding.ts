import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { EgressUndecodable } from './errors.ts';

/** A content coding (RFC 9110 §8.4.1, RFC 7932, RFC 8878) that we decode; a request lists these names. */
export type ContentCoding = keyof typeof decoders;

/** The decoder of each coding, by the first byte of the coded data. */
const decoders = {
  gzip: () => createGunzip(),
  // Some servers omit the zlib header that RFC 9110 §8.4.1.2 requires; browsers read both.
  deflate: (first: number) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  // A window of at most 8 MiB (RFC 9659 §3): a frame may ask for more memory than that.
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
} as const satisfies Record<string, (first: number) => Transform & { readonly bytesWritten: number }>;

export const acceptedCodings = Object.keys(decoders).join(', ');

/** As many as curl decodes; each costs a decoder. */
const maxCodings = 5;
/** How many bytes a decoder may take beyond those that it returns. An honest coding never grows a body by more than a few bytes per block. */
const slackBytes = 1024 * 1024;

/** Returns the codings of a body, in the order in which they are decoded; null when one is unknown, or there are too many. */
export function codingsOf(contentEncoding: string | undefined): readonly ContentCoding[] | null {
  const named = (contentEncoding ?? '').toLowerCase().split(',');
  const names = named.map((name) => name.trim().replace(/^x-gzip$/, 'gzip')).filter((name) => name !== '' && name !== 'identity');
  if (names.length > maxCodings || !names.every(isKnown)) return null;
  return names.filter(isKnown).toReversed();
}

/**
 * Decodes a body while it is read: nothing is decoded that is not read, so the reader decides how much there is. Each decoder may take no more bytes than it
 * returns, plus 1 MiB, so that a body that costs work and yields nothing ends, too, however its codings are stacked. An empty body is empty in every coding.
 * Errors of the stream: EgressUndecodable, or those of the body.
 */
export function undoCodings(body: Readable, codings: readonly ContentCoding[]): Readable {
  if (codings.length === 0) return body;
  const plain = Readable.from(codings.reduce<AsyncIterable<Buffer>>(undo, body), { objectMode: false });
  body.on('error', () => undefined); // `plain` reports it to its reader
  // A reader that stops while nothing arrives ends the connection at once: otherwise the decoders would wait for bytes before they close.
  const close = plain._destroy.bind(plain);
  plain._destroy = (error, done) => {
    body.destroy();
    close(error, done);
  };
  return plain;
}

async function* undo(source: AsyncIterable<Buffer>, coding: ContentCoding): AsyncGenerator<Buffer> {
  const parts = source[Symbol.asyncIterator]();
  let part = await parts.next();
  while (!part.done && part.value.length === 0) part = await parts.next();
  if (part.done) return;

  const decoder = decoders[coding](part.value[0] ?? 0);
  let taken = 0;
  let given = 0;
  let failure: unknown = null;
  async function* fed(): AsyncGenerator<Buffer> {
    try {
      for (; !part.done; part = await parts.next()) {
        taken += part.value.length;
        if (taken - given > slackBytes) throw new EgressUndecodable(coding);
        yield part.value;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  pipeline(Readable.from(fed(), { objectMode: false }), decoder, () => undefined); // whatever fails, the decoder's reader gets the error
  try {
    for await (const plain of decoder as AsyncIterable<Buffer>) {
      given += plain.length;
      yield plain;
    }
  } catch {
    throw failure ?? new EgressUndecodable(coding);
  }
  // Node reads the first of several frames and reports nothing about the others.
  if (coding === 'zstd' && decoder.bytesWritten < taken) throw new EgressUndecodable(coding);
}

function isKnown(name: string): name is ContentCoding {
  return Object.hasOwn(decoders, name);
}
