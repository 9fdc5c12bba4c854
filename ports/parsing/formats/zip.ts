import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { ParseFailure, parseLimits } from '../parsed.ts';

/** More entries than any real document has. */
const maxEntries = 20_000;

/** A zip file whose directory has been read: its entries by name. */
export interface OpenZip {
  readonly names: readonly string[];
  /** Returns the bytes of an entry; null when there is none of this name. */
  read(name: string): Promise<Buffer | null>;
  close(): void;
}

/**
 * Opens a document that is a zip file.
 * @throws ParseFailure `malformed`, `encrypted`, `payload_too_large` over 300 MiB unpacked
 */
export async function openZip(path: string): Promise<OpenZip> {
  const zip = await openPromise(path, { autoClose: false, lazyEntries: true }).catch((error: unknown) => {
    throw brokenZip(error);
  });
  try {
    const entries = await entriesOf(zip);
    let unpacked = 0;
    const read = async (name: string) => {
      const entry = entries.get(name);
      if (!entry) return null;
      const bytes = await bytesOf(zip, entry);
      unpacked += bytes.byteLength;
      if (unpacked > parseLimits.unpackedBytes) throw tooLarge();
      return bytes;
    };
    return { names: [...entries.keys()], read, close: () => zip.close() };
  } catch (error) {
    zip.close();
    throw error instanceof ParseFailure ? error : brokenZip(error);
  }
}

async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let declared = 0;
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) throw new ParseFailure('encrypted', 'The file is password-protected.');
    declared += entry.uncompressedSize;
    if (declared > parseLimits.unpackedBytes || entries.size >= maxEntries) throw tooLarge();
    entries.set(entry.fileName, entry);
  }
  return entries;
}

/** The reader refuses an entry that unpacks to more, or fewer, bytes than it declares. */
async function bytesOf(zip: ZipFile, entry: Entry): Promise<Buffer> {
  try {
    const parts: Buffer[] = [];
    for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer); // a byte stream without an encoding yields buffers
    return Buffer.concat(parts);
  } catch (error) {
    throw brokenZip(error);
  }
}

function brokenZip(cause: unknown): ParseFailure {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ParseFailure('malformed', `The file is damaged or truncated: ${message.slice(0, 200)}`);
}

function tooLarge(): ParseFailure {
  return new ParseFailure('payload_too_large', `The file unpacks to more than ${parseLimits.unpackedBytes / 1024 / 1024} MiB.`);
}
