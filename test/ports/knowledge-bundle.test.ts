import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { checkBundle, parseRecord, readLines, writeBundle, type BundleRecord } from '../../ports/parsing/knowledge-bundle.ts';

const header = { type: 'header', format: 'longhaul.knowledge', version: 1 };

async function packed(records: readonly BundleRecord[]): Promise<Buffer> {
  async function* all() {
    yield* records;
  }
  const lines: Buffer[] = [];
  for await (const line of writeBundle(all())) lines.push(line);
  return gzipSync(Buffer.concat(lines));
}

const check = (bytes: Uint8Array, limits?: Parameters<typeof checkBundle>[1]) => checkBundle(Readable.from([bytes]), limits);

test('a bundle is read as it was written', async () => {
  const items = [
    { type: 'item', content: 'A\u2028b, ä, 漢' },
    { type: 'item', content: '' },
  ];
  const bytes = await packed([header, ...items]);

  const read: unknown[] = [];
  for await (const { bytes: line } of readLines(Readable.from([bytes.subarray(0, 30), bytes.subarray(30)]))) read.push(parseRecord(line));

  expect(read.slice(0, -1)).toEqual([header, ...items]);
  expect(await check(bytes)).toEqual({ header, counts: { header: 1, item: 2 }, lines: 3 });
});

test('a bundle that is cut off anywhere, changed, or of another format is refused', async () => {
  const lines = [header, ...Array.from({ length: 50 }, (_, at) => ({ type: 'item', at, text: Math.random().toString(36) }))];
  const bytes = await packed(lines);
  const whole: string[] = [];
  for await (const { bytes: line } of readLines(Readable.from([bytes]))) whole.push(line.toString());

  for (let length = 0; length < bytes.byteLength; length += 37) await expect(check(bytes.subarray(0, length))).rejects.toThrow();
  const repacked = (changed: readonly string[]) => check(gzipSync(changed.map((line) => `${line}\n`).join('')));
  await expect(repacked(whole.slice(0, -1))).rejects.toMatchObject({ code: 'cut_off', line: 51 });
  await expect(repacked(whole.toSpliced(7, 1))).rejects.toMatchObject({ code: 'wrong_digest' });
  await expect(repacked(whole.toSpliced(0, 1, '{"type":"header","format":"other"}'))).rejects.toMatchObject({ code: 'not_a_bundle' });
  await expect(repacked(whole.toSpliced(0, 1, JSON.stringify({ ...header, version: 2 })))).rejects.toMatchObject({
    code: 'unknown_version',
  });
  await expect(check(Buffer.from('not gzip at all'))).rejects.toMatchObject({ code: 'not_a_bundle' });
  await expect(check(gzipSync(Buffer.from('\uFEFFa', 'utf16le')))).rejects.toMatchObject({ code: 'not_a_bundle' });
});

test('a bomb and a line without an end are refused with flat memory', async () => {
  const bomb = gzipSync(Buffer.alloc(200 * 1_024 * 1_024, '\n'));
  const line = gzipSync(Buffer.alloc(100 * 1_024 * 1_024, 'x'));
  const limits = { lineBytes: 1_024 * 1_024, bytes: 50 * 1_024 * 1_024, lines: 100_000 };
  const dots = gzipSync(Buffer.alloc(100 * 1_024 * 1_024, `${'.'.repeat(1_000)}\n`));
  const before = process.memoryUsage().arrayBuffers;
  const start = Buffer.from(`${JSON.stringify(header)}\n`);

  await expect(checkBundle(Readable.from([Buffer.concat([gzipSync(start), bomb])]), limits)).rejects.toMatchObject({
    code: 'too_large',
    line: 100_001,
  });
  await expect(checkBundle(Readable.from([Buffer.concat([gzipSync(start), dots])]), limits)).rejects.toMatchObject({ code: 'too_large' });
  await expect(checkBundle(Readable.from([Buffer.concat([gzipSync(start), line])]), limits)).rejects.toMatchObject({
    code: 'too_large',
    line: 2,
  });

  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1_024 * 1_024);
});
