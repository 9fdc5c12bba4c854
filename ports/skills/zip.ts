import { fromBufferPromise, getFileNameLowLevel, type Entry, type ZipFile } from 'yauzl';
import { Failure, invalid } from '../../workflows/contracts/failure.ts';
import { faultOfSkillPath } from './path.ts';

/** A file of a bundle, by its path below the top folder. */
export interface BundleFile {
  readonly path: string;
  readonly bytes: Buffer;
}

const maxEntries = 1_000;
const maxEntryBytes = 8 * 1_024 * 1_024;
const maxTotalBytes = 16 * 1_024 * 1_024;

const formatMask = 0o170_000;
const regularFile = 0o100_000;
const folder = 0o040_000;

/**
 * Reads the files of a zip into memory: at most 1,000 entries including folders, 8 MiB each, 16 MiB together; one folder around everything is stripped, and
 * files that macOS adds are left out. Nothing is written anywhere. 422 at `pointer` for anything else, and for paths that lead out of the bundle, links,
 * encrypted entries and two entries of one name.
 */
export async function readZip(bytes: Buffer, pointer: string): Promise<BundleFile[]> {
  try {
    const zip = await fromBufferPromise(bytes, { lazyEntries: true, decodeStrings: false, validateEntrySizes: true });
    return withoutTopFolder(await readEntries(zip, pointer));
  } catch (error) {
    if (error instanceof Failure) throw error;
    // The parser's message may quote the archive.
    throw invalid(pointer, 'zip', 'The zip archive cannot be read.');
  }
}

/** Whether bytes begin like a zip archive, an empty one included. */
export function isZip(bytes: Buffer): boolean {
  const signature = bytes.subarray(0, 4).toString('latin1');
  return signature === 'PK\u0003\u0004' || signature === 'PK\u0005\u0006';
}

async function readEntries(zip: ZipFile, pointer: string): Promise<BundleFile[]> {
  if (zip.entryCount > maxEntries) throw tooBig(pointer, `more than ${maxEntries} entries`);
  const files: BundleFile[] = [];
  const names = new Set<string>();
  let total = 0;
  for await (const entry of zip.eachEntry()) {
    const path = pathOf(entry, pointer);
    if (path.endsWith('/') || isJunk(path)) continue;
    if (names.has(path)) throw invalid(pointer, 'uniqueItems', 'Two entries of the bundle have the same name.', { names: [path] });
    names.add(path);
    if (entry.uncompressedSize > maxEntryBytes) throw tooBig(pointer, `an entry of more than ${maxEntryBytes} bytes`);
    total += entry.uncompressedSize;
    if (total > maxTotalBytes) throw tooBig(pointer, `more than ${maxTotalBytes} bytes`);
    files.push({ path, bytes: await inflate(zip, entry, pointer) });
  }
  return files;
}

/** Returns the entry's name, when it is a regular file or a folder inside the bundle. */
function pathOf(entry: Entry, pointer: string): string {
  const raw = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, true);
  const path = raw.replace(/^(?:\.\/)+/, '');
  const fault = faultOfSkillPath(path.endsWith('/') ? path.slice(0, -1) : path);
  if (fault !== null && raw !== './')
    throw invalid(pointer, 'path', `The path of an entry ${fault}.`, { names: [raw.slice(0, 200).toWellFormed()] });
  const format = (entry.externalFileAttributes >>> 16) & formatMask;
  // Archives that were not made on Unix state no format here.
  if (format !== 0 && format !== regularFile && format !== folder)
    throw invalid(pointer, 'link', 'The bundle contains a link or a device.', { names: [path] });
  if (entry.isEncrypted()) throw invalid(pointer, 'zip', 'The bundle is encrypted.', { names: [path] });
  return path;
}

/** Compares the declared size with the actual one; a longer stream is aborted. */
async function inflate(zip: ZipFile, entry: Entry, pointer: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of await zip.openReadStreamPromise(entry)) {
    parts.push(part as Buffer); // a byte stream without an encoding yields buffers
    length += (part as Buffer).byteLength;
    if (length > maxEntryBytes) throw tooBig(pointer, `an entry of more than ${maxEntryBytes} bytes`);
  }
  return Buffer.concat(parts, length);
}

function isJunk(path: string): boolean {
  return path.split('/').includes('__MACOSX') || path.endsWith('.DS_Store');
}

function withoutTopFolder(files: readonly BundleFile[]): BundleFile[] {
  const top = files[0]?.path.split('/', 1)[0];
  if (top === undefined || !files.every(({ path }) => path.startsWith(`${top}/`))) return [...files];
  return files.map(({ path, bytes }) => ({ path: path.slice(top.length + 1), bytes }));
}

function tooBig(pointer: string, message: string): Failure {
  return invalid(pointer, 'maxLength', `The bundle contains ${message}.`);
}
