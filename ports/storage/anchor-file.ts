import { createHmac, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';

/** The newest seal of a chain of the audit log, as it is anchored. */
export interface AuditHead {
  readonly chain: string;
  readonly seal_no: number;
  /** Hexadecimal. */
  readonly mac: string;
  /** Number of entries in the chain up to it. */
  readonly entries: number;
}

const AnchorRecord = Type.Object(
  {
    at: Type.String({ maxLength: 24 }),
    chain: Type.String({ maxLength: 36 }),
    seal_no: Type.Integer({ minimum: 1 }),
    mac: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    entries: Type.Integer({ minimum: 0 }),
    key_id: Type.String({ maxLength: 16 }),
    previous: Type.String({ pattern: '^([0-9a-f]{64})?$' }),
    line_mac: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  },
  { additionalProperties: false },
);

/** One line: a head, when it was the newest, and a MAC that binds it to the preceding line. */
export type AnchorRecord = Readonly<Static<typeof AnchorRecord>>;

/** A line as it is read. `line` is null when it is not ours: torn by a crash, or forged. */
export interface ReadAnchor {
  readonly number: number;
  readonly line: AnchorRecord | null;
  /** What is wrong with it; null: nothing, or only that a crash has torn it. */
  readonly fault: string | null;
}

/** Heads of the audit log outside its database, one JSON object per line. Only appended to, by one process at a time (a database lock ensures that). */
export interface AnchorFile {
  readonly path: string;
  /** Appends the heads and syncs them to disk. Throws the file system's error. */
  append(heads: readonly AuditHead[], at: Date): Promise<void>;
  /** Returns all lines from the first on; null when there is no file. */
  read(): Promise<AsyncIterable<ReadAnchor> | null>;
  /** Whether the file exists and has lines. */
  hasLines(): Promise<boolean>;
}

interface Key {
  readonly id: string;
  readonly secret: Buffer;
}

const isLine = Compile(AnchorRecord);
/** Far more than the length of a line. */
const tailBytes = 65_536;

/** Returns the path of the anchors: `AUDIT_ANCHOR_FILE`, otherwise in the state folder. */
export function anchorPathOf(source: Readonly<Record<string, string | undefined>>): string {
  const stateDir = source['LONGHAUL_STATE_DIR'] || join(import.meta.dirname, '../..', '.longhaul');
  return resolve(source['AUDIT_ANCHOR_FILE'] || join(stateDir, 'audit-anchors.jsonl'));
}

/** `keys` are those of the audit log: the first one signs lines, all of them verify. */
export function createAnchorFile(path: string, keys: readonly [Key, ...Key[]]): AnchorFile {
  return {
    path,
    async append(heads, at) {
      // Creates only the folder itself, in an existing one; if that fails, opening the file reports why.
      await mkdir(dirname(path), { mode: 0o700 }).catch(() => undefined);
      const file = await open(path, 'a+', 0o600);
      try {
        await writeLines(file, { heads, at, key: keys[0] });
      } finally {
        await file.close();
      }
    },
    async read() {
      const file = await openIfThere(path);
      await file?.close();
      return file && readLines(path, keys);
    },
    async hasLines() {
      const file = await openIfThere(path);
      const size = (await file?.stat())?.size ?? 0;
      await file?.close();
      return size > 0;
    },
  };
}

async function writeLines(file: FileHandle, { heads, at, key }: { heads: readonly AuditHead[]; at: Date; key: Key }): Promise<void> {
  const { text: tail, isWhole } = await readTail(file);
  let previous =
    tail
      .split('\n')
      .map(lineOf)
      .findLast((line) => line !== null)?.line_mac ?? '';
  // A line that a crash has torn stays on its own.
  let text = isWhole ? '' : '\n';

  for (const { chain, seal_no, mac, entries } of heads) {
    const unsigned = { at: at.toISOString(), chain, seal_no, mac, entries, key_id: key.id, previous };
    previous = macOf(key, unsigned).toString('hex');
    text += `${JSON.stringify({ ...unsigned, line_mac: previous })}\n`;
  }
  await file.appendFile(text);
  await file.sync();
}

async function readTail(file: FileHandle): Promise<{ text: string; isWhole: boolean }> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.min(size, tailBytes));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
  const text = buffer.subarray(0, bytesRead).toString();
  return { text, isWhole: text === '' || text.endsWith('\n') };
}

async function* readLines(path: string, keys: readonly Key[]): AsyncGenerator<ReadAnchor> {
  let number = 0;
  let previous = '';
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    number += 1;
    const line = lineOf(text);
    if (line === null) {
      yield { number, line, fault: null };
      continue;
    }
    const key = keys.find(({ id }) => id === line.key_id);
    const { line_mac: mac, ...unsigned } = line;
    if (!key) yield { number, line: null, fault: `LONGHAUL_AUDIT_KEYS lacks the key ${line.key_id}, under which it was written` };
    else if (!timingSafeEqual(macOf(key, unsigned), Buffer.from(mac, 'hex'))) {
      yield { number, line: null, fault: 'it was changed, or was not written by this deployment' };
      continue;
    } else yield { number, line, fault: line.previous === previous ? null : 'lines before it were removed' };
    previous = mac;
  }
}

/** Parses a text as a line; null when it is none. */
function lineOf(text: string): AnchorRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return isLine.Check(value) ? value : null;
  } catch {
    return null;
  }
}

function macOf({ secret }: Key, { at, chain, seal_no, mac, entries, key_id, previous }: Omit<AnchorRecord, 'line_mac'>): Buffer {
  return createHmac('sha256', secret)
    .update('longhaul audit anchor\0')
    .update(JSON.stringify([previous, at, chain, seal_no, mac, entries, key_id]))
    .digest();
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
    throw error;
  }
}
