import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { row } from '../../../db/sql.ts';
import { storageDirOf } from '../../support/api.ts';
import { fixtures } from '../../support/parsed-file.ts';
import { openWorld, type World } from '../world.ts';
import { download, png, upload } from './uploads.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

function storedFiles(): string[] {
  const folder = storageDirOf(world.api.redisPrefix);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function fileOf(id: unknown): Promise<string> {
  const found = await sweep(world.api.db, (em) =>
    row<{ storage_key: string }>(em, 'select storage_key from attachments where id = ?', [id]),
  );
  return join(storageDirOf(world.api.redisPrefix), found?.storage_key ?? '');
}

test.each([
  'The free book',
  'The wide world',
  'BMW is a car',
  'solid ground',
  'ID3 tags are old',
  'GIF8 is no picture',
  'FORM to fill in',
  'PAR1 race',
])('words that begin like %j are text and no film', async (words) => {
  const { tokens } = await world.tenant();

  const { status, body } = await upload(world, tokens.member, `${words}: ünd so weiter. `.repeat(300), { filename: 'notes.txt' });

  expect([status, body['media_type']]).toEqual([201, 'text/plain']);
});

test('whatever a source of knowledge reads can be uploaded for it, in any encoding, and for no other purpose', async () => {
  const { tokens } = await world.tenant();
  const compound = /encrypted\.(?:docx|pptx|xlsx)$|\.doc$/; // files of Office 97, and encrypted ones in their container
  const files = readdirSync(fixtures, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => join(entry.parentPath, entry.name));
  const foreign = [];

  for (const file of files) {
    const bytes = readFileSync(file);
    const { status } = await upload(world, tokens.member, bytes, { filename: basename(file), fields: { purpose: 'knowledge' } });
    expect([file, status]).toEqual([file, compound.test(file) ? 415 : 201]);
    const other = await upload(world, tokens.member, bytes, { filename: basename(file) });
    if (other.status !== status) foreign.push([basename(file), other.status]);
  }

  expect(foreign).toEqual(
    expect.arrayContaining(['utf-16.json', 'python-excel-utf-16.tsv', 'pandoc-utf-16.html', 'bad-rows.csv'].map((name) => [name, 415])),
  );
});

test('the encoding of a file of knowledge is not said to be UTF-8', async () => {
  const { tokens } = await world.tenant();
  const wide = Buffer.from('\uFEFFGröße', 'utf16le');

  const { body } = await upload(world, tokens.member, wide, { filename: 'a.csv', fields: { purpose: 'knowledge' } });
  const reply = await download(world, tokens.member, body['id']);

  expect([body['media_type'], reply.headers.get('content-type'), reply.bytes.equals(wide)]).toEqual(['text/csv', 'text/csv', true]);
});

test('HEAD knows no ranges (RFC 9110 §14.2)', async () => {
  const { tokens } = await world.tenant();
  const { body } = await upload(world, tokens.member, png);

  const head = await download(world, tokens.member, body['id'], { range: 'bytes=0-3' }, 'HEAD');

  expect([head.status, head.headers.get('content-length'), head.headers.get('content-range')]).toEqual([200, String(png.length), null]);
});

test('bytes that are gone are an error of its own shape, and not a saved file with the tag of the real one', async () => {
  const { tokens } = await world.tenant();
  const { body } = await upload(world, tokens.member, png);
  rmSync(await fileOf(body['id']));

  const [gone, range] = await Promise.all([
    download(world, tokens.member, body['id']),
    download(world, tokens.member, body['id'], { range: 'bytes=0-3' }),
  ]);

  for (const reply of [gone, range]) {
    expect([reply.status, reply.body['code']]).toEqual([404, 'not_found']);
    for (const name of ['etag', 'content-disposition', 'content-range', 'accept-ranges'])
      expect([name, reply.headers.get(name)]).toEqual([name, null]);
  }
});

test('an upload that is refused late, or was done before, leaves no bytes', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const headers = { 'idempotency-key': 'k1' };
  await upload(world, mine.tokens.member, 'one', { headers });
  const before = storedFiles();

  const again = await upload(world, mine.tokens.member, 'one', { headers });
  const mismatch = await upload(world, mine.tokens.member, 'two', { headers });
  const foreign = await upload(world, mine.tokens.member, 'x', { fields: { workspace_id: other.workspaceId } });

  expect([again.status, mismatch.status, foreign.status]).toEqual([201, 422, 422]);
  expect(storedFiles()).toEqual(before);
});

test('uploads of one key at once keep one file between them', async () => {
  const { tokens } = await world.tenant();
  const before = storedFiles();

  const replies = await Promise.all(
    Array.from({ length: 6 }, () => upload(world, tokens.member, png, { headers: { 'idempotency-key': 'at-once' } })),
  );
  const made = replies.filter(({ status }) => status === 201);

  expect(new Set(made.map(({ body }) => body['id'])).size).toBe(1);
  expect(replies.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
  expect(storedFiles()).toHaveLength(before.length + 1);
  expect((await download(world, tokens.member, made[0]?.body['id'])).bytes.equals(png)).toBe(true);
});

test('a client that waits for 100 Continue is told to go on', async () => {
  const { tokens } = await world.tenant();
  const content = `--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nwords\r\n--b--\r\n`;

  const status = await new Promise((resolve, reject) => {
    const request = httpRequest(`${world.api.url}/attachments`, {
      method: 'POST',
      headers: {
        'authorization': `Bearer ${tokens.member}`,
        'content-type': 'multipart/form-data; boundary=b',
        'content-length': content.length,
        'expect': '100-continue',
      },
    });
    request.on('continue', () => request.end(content));
    request.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
    request.setTimeout(5_000, () => request.destroy(new Error('no 100 Continue')));
    request.flushHeaders();
  });

  expect(status).toBe(201);
});
