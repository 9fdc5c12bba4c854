import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { isUtf8 } from 'node:buffer';
import chardet from 'chardet';
import { isTextSample, sniffUtf16 } from './text-bytes.ts';
import { cleanText } from './clean.ts';
import { ParseFailure, type ParseInput } from '../parsed.ts';

const sampleBytes = 64 * 1024;
/** Encodings that chardet reports under a name that TextDecoder (WHATWG Encoding) does not know. */
const aliases: Readonly<Record<string, string>> = { 'ISO-8859-1': 'windows-1252', 'ASCII': 'utf-8' };

/**
 * Yields the text of a file as it is read, without its byte order mark. The encoding is the one of the BOM; UTF-8 when all of the file is valid UTF-8; UTF-16
 * when its zero bytes have that pattern; otherwise chardet's guess. U+0000 is dropped, and what can't be decoded becomes U+FFFD, each with a warning that names
 * its offset.
 * @throws ParseFailure `unsupported_media_type` for bytes that are not text
 */
export async function* readText({ path, warn }: Pick<ParseInput, 'path' | 'warn'>): AsyncGenerator<string> {
  const charset = await charsetOf(path, warn);
  const decoder = decoderOf(charset);
  let offset = 0;
  for await (const bytes of chunksOf(path)) {
    const text = decoder.decode(bytes, { stream: true });
    reportBadBytes({ text, bytes, charset, offset }, warn);
    const clean = cleanText(text, warn, offset);
    offset += text.length;
    if (clean !== '') yield clean;
  }
  const rest = decoder.decode();
  if (rest === '') return;
  warn('bad_bytes', `The file ends within a character, at character ${offset}.`);
  yield rest;
}

/** Returns all of it, for formats that need the whole text. */
export async function readWholeText(input: Pick<ParseInput, 'path' | 'warn'>): Promise<string> {
  const chunks: string[] = [];
  for await (const text of readText(input)) chunks.push(text);
  return chunks.join('');
}

/** Yields lines that end in `\n`, `\r\n` or `\r`, without those, and their offsets in characters of the decoded text. */
export async function* readLines(
  input: Pick<ParseInput, 'path' | 'warn'>,
): AsyncGenerator<{ readonly line: string; readonly offset: number }> {
  let rest = '';
  let offset = 0;
  for await (const text of readText(input)) {
    // A chunk may end between the two characters of one line end.
    const joined = rest + text;
    const isCut = joined.endsWith('\r');
    const whole = isCut ? joined.slice(0, -1) : joined;
    let from = 0;
    for (const match of whole.matchAll(/\r\n|\n|\r/g)) {
      yield { line: whole.slice(from, match.index), offset: offset + from };
      from = match.index + match[0].length;
    }
    rest = joined.slice(from);
    offset += from;
  }
  if (rest !== '') yield { line: rest.replace(/\r$/, ''), offset };
}

async function charsetOf(path: string, warn: ParseInput['warn']): Promise<string> {
  const head = await sampleOf(path, 0);
  const wide = sniffUtf16(head);
  if (wide !== null) {
    if (!wide.hasMark) warn('charset_guessed', `The file has no byte order mark; it was read as ${wide.charset}.`);
    return wide.charset;
  }
  if (!isTextSample(head)) throw new ParseFailure('unsupported_media_type', 'The file is neither text nor of a readable type.');
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8';

  const firstBad = await firstBadByte(path);
  if (firstBad === null) return 'utf-8';
  const sample = await sampleOf(path, Math.max(0, firstBad - sampleBytes / 2));
  if (isNearlyUtf8(sample)) return 'utf-8';
  const found = chardet.detect(sample) ?? 'windows-1252';
  const charset = aliases[found] ?? found;
  warn('charset_guessed', `The file is not UTF-8 (first at byte ${firstBad}); it was read as ${charset}.`);
  return charset;
}

/** Recognizes UTF-8 with some damaged bytes: other encodings rarely look like many of its characters. */
function isNearlyUtf8(sample: Buffer): boolean {
  const text = new TextDecoder('utf-8').decode(sample);
  const bad = text.match(/\u{FFFD}/gu)?.length ?? 0;
  const good = text.match(/[^\0-\x7F\u{FFFD}]/gu)?.length ?? 0;
  return good > bad * 4;
}

async function firstBadByte(path: string): Promise<number | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let before = 0;
  for await (const bytes of chunksOf(path)) {
    try {
      decoder.decode(bytes, { stream: true });
    } catch {
      return before + badIndex(bytes);
    }
    before += bytes.length;
  }
  try {
    decoder.decode();
    return null;
  } catch {
    return before;
  }
}

/** Returns, by binary search, the length of the longest prefix that is UTF-8, or nearly. The first bytes may end a character of the previous chunk. */
function badIndex(bytes: Buffer): number {
  let from = 0;
  while (from < 4 && from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  let low = from;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ([0, 1, 2, 3].some((cut) => middle - cut >= from && isUtf8(bytes.subarray(from, middle - cut)))) low = middle;
    else high = middle - 1;
  }
  return low;
}

function decoderOf(charset: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset);
  } catch {
    throw new ParseFailure('unsupported_media_type', `The character set ${charset} is not supported. Save the file as UTF-8.`);
  }
}

interface Decoded {
  readonly text: string;
  readonly bytes: Buffer;
  readonly charset: string;
  readonly offset: number;
}

/** A U+FFFD in the file itself is not an error of the file. */
function reportBadBytes({ text, bytes, charset, offset }: Decoded, warn: ParseInput['warn']): void {
  if (!text.includes('\u{FFFD}') || (charset === 'utf-8' && bytes.includes(replacementBytes))) return;
  const code = charset.startsWith('utf-16') ? 'lone_surrogate' : 'bad_bytes';
  const what = code === 'lone_surrogate' ? 'A lone surrogate' : `A byte that is not ${charset}`;
  for (const { index } of text.matchAll(/\u{FFFD}/gu)) warn(code, `${what} at character ${offset + index} was replaced by U+FFFD.`);
}

const replacementBytes = Buffer.from('\u{FFFD}');

async function sampleOf(path: string, position: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(sampleBytes), 0, sampleBytes, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  for await (const bytes of createReadStream(path, { highWaterMark: sampleBytes * 4 })) yield bytes as Buffer; // a stream without an encoding yields buffers
}
