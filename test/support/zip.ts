import { crc32, deflateRawSync } from 'node:zlib';

/** An entry as an archive may hold it, hostile ones included: nothing of it is checked. */
export interface ZipEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Unix mode in the attributes; 0o120777 is a link. */
  readonly mode?: number;
  /** Size that the headers claim, instead of the real one. */
  readonly claimedSize?: number;
  readonly flags?: number;
  readonly method?: number;
}

/** A zip archive of entries as they stand. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '');
    const data = entry.method === 0 ? content : deflateRawSync(content);
    const name = Buffer.from(entry.path);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE((entry.flags ?? 0) | 0x800, 2);
    shared.writeUInt16LE(entry.method ?? 8, 4);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(entry.claimedSize ?? content.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), shared, name, data]);

    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((entry.mode ?? 0o100_644) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\u0001\u0002', 'latin1'), Buffer.from([20, 3]), shared, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}
