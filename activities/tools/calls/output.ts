import { truncateText } from '../../../workflows/contracts/truncate-text.ts';
import { isUtf8 } from 'node:buffer';
import { cleanJson, cleanText } from '../../model/wire/plain-text.ts';
import { isJson, mediaTypeOf, readBodyText } from '../../../ports/egress/body-text.ts';
import type { EgressResponse } from '../../../ports/egress/egress.ts';
import { failed, jsonOutcome, type ToolOutcome } from './outcome.ts';

export { truncateText };

/** The part of a result that goes into the call's row and to the model: truncated between code points, with the size of the whole. */
export interface CappedOutput {
  readonly output: unknown;
  readonly type: 'text' | 'json';
  readonly totalChars: number;
  readonly truncated: boolean;
  /** The whole result as text (at most 2 MiB) when it was truncated, for `result_read`. */
  readonly rest: string | null;
}

const maxRestBytes = 2 * 1024 * 1024;

/** Truncates a succeeded outcome to `maxChars`. JSON that is longer becomes text with its beginning. */
export function capOutput(outcome: Extract<ToolOutcome, { type: 'text' | 'json' }>, maxChars: number): CappedOutput {
  const output = outcome.type === 'text' ? cleanText(outcome.text) : (cleanJson(outcome.value) ?? null);
  const text = outcome.type === 'text' ? String(output) : JSON.stringify(output);
  if (text.length <= maxChars) return { output, type: outcome.type, totalChars: text.length, truncated: false, rest: null };
  return {
    output: truncateText(text, maxChars),
    type: 'text',
    totalChars: text.length,
    truncated: true,
    rest: truncateBytes(text, maxRestBytes),
  };
}

/** Returns the body of an answer as JSON (its value at the pointer), text or a file; other bytes that were truncated are a failed result. */
export function bodyOutcome(answer: Omit<EgressResponse, 'status'>, pointer = ''): ToolOutcome {
  const contentType = answer.headers['content-type'] ?? '';
  const mediaType = mediaTypeOf(contentType);
  if (answer.body.length === 0) return { status: 'succeeded', type: 'text', text: '' };
  const text = isTextual(mediaType) ? textOf(answer, contentType) : null;
  if (text === null) {
    if (answer.isTruncated) return failed('upstream_status', 'the file is over 10 MiB', false, 'too_large');
    const isOpaque = answer.isCoded || (mediaType !== '' && isTextual(mediaType));
    const file = { name: nameOf(answer), mediaType: mediaType || 'application/octet-stream', bytes: answer.body, isOpaque };
    return { status: 'succeeded', type: 'files', files: [file], text: '' };
  }
  if (!answer.isTruncated && isJson(mediaType)) return jsonOutcome(text, pointer);
  return { status: 'succeeded', type: 'text', text };
}

/** A body with a content coding is text only when the coding is none: some servers name a charset as one. */
function textOf({ body, isTruncated, isCoded }: Omit<EgressResponse, 'status'>, contentType: string): string | null {
  return !isCoded || isUtf8(body) ? readBodyText({ bytes: body, contentType, isTruncated }) : null;
}

/** Returns the server's name for the file, otherwise the last segment of its address. It is only a proposal: the code that stores the file cleans it. */
function nameOf({ headers, url }: { readonly headers: Readonly<Record<string, string>>; readonly url: string }): string {
  const given = /filename="?([^";]+)"?/i.exec(headers['content-disposition'] ?? '')?.[1]?.trim();
  return given || new URL(url).pathname.split('/').at(-1) || 'file';
}

function truncateBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const cut = Buffer.from(text).subarray(0, maxBytes).toString('utf8');
  return cut.endsWith('\uFFFD') ? cut.slice(0, -1) : cut;
}

function isTextual(mediaType: string): boolean {
  if (mediaType === '' || mediaType.startsWith('text/') || mediaType.endsWith('+json') || mediaType.endsWith('+xml')) return true;
  return [
    'application/json',
    'application/xml',
    'application/javascript',
    'application/x-ndjson',
    'application/yaml',
    'application/x-www-form-urlencoded',
  ].includes(mediaType);
}
