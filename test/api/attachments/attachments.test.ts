import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { storageDirOf } from '../../support/api.ts';
import { until } from '../../support/temporal.ts';
import { openWorld, type World } from '../world.ts';
import { download, png, send, upload } from './uploads.ts';

const maxBytes = 300_000;
let world: World;

beforeAll(async () => {
  world = await openWorld({ env: { ATTACHMENT_MAX_BYTES: String(maxBytes) } });
});
afterAll(() => world.close());

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Files that lie in the storage of the tests, uploads under way among them. */
function storedFiles(): string[] {
  return readdirSync(storageDirOf(world.api.redisPrefix), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test('an upload answers 201 with what is known of the file, and its bytes come back as they went', async () => {
  const { tokens, users, organizationId, workspaceId } = await world.tenant();

  const made = await upload(world, tokens.member, png, { filename: 'Bild é.png', fields: { purpose: 'other' } });
  const view = await download(world, tokens.member, made.body['id'], { accept: 'application/json' });
  const file = await download(world, tokens.member, made.body['id']);

  expect(made.status).toBe(201);
  expect(made.headers.get('location')).toBe(`/attachments/${made.body['id']}`);
  expect(made.body).toEqual({
    id: expect.any(String),
    organization_id: organizationId,
    workspace_id: workspaceId,
    filename: 'Bild é.png',
    media_type: 'image/png',
    size_bytes: png.length,
    sha256: sha256(png),
    purpose: 'other',
    state: 'ready',
    created_by: { kind: 'user', id: users.member.id },
    linked: false,
    expires_at: expect.any(String),
    created_at: expect.any(String),
  });
  expect(view.body).toEqual(made.body);
  expect(file.bytes.equals(png)).toBe(true);
});

test('a download is saved and never shown, whatever it holds', async () => {
  const { tokens } = await world.tenant();
  const made = await upload(world, tokens.member, '<script>alert(1)</script>', { filename: 'a"b;\r\nx: y.html' });

  const file = await download(world, tokens.member, made.body['id']);
  const head = await download(world, tokens.member, made.body['id'], {}, 'HEAD');

  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-disposition': expect.stringMatching(/^attachment; filename=/),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'content-length': '25',
    'cache-control': 'private, no-cache',
  });
  expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, '25', 0]);
});

test('ranges reassemble to the sha256; several, or one out of bounds, give the whole', async () => {
  const { tokens } = await world.tenant();
  const bytes = Buffer.concat([png, Buffer.alloc(200_000, 'abc')]);
  const { body } = await upload(world, tokens.member, bytes);
  const get = (range: string, more: Record<string, string> = {}) => download(world, tokens.member, body['id'], { range, ...more });

  const parts = [];
  for (let start = 0; start < bytes.length; start += 70_000) parts.push(await get(`bytes=${start}-${start + 69_999}`));
  const [tail, from, several, outside, backwards] = await Promise.all(
    ['bytes=-5', `bytes=${bytes.length - 3}-`, 'bytes=0-1,4-5', `bytes=${bytes.length}-`, 'bytes=9-3'].map((range) => get(range)),
  );
  const [stale, fresh] = await Promise.all([
    get('bytes=0-1', { 'if-range': '"old"' }),
    get('bytes=0-1', { 'if-range': `"${body['sha256']}"` }),
  ]);

  expect(parts.map((part) => part.status)).toEqual([206, 206, 206]);
  expect(parts[1]?.headers.get('content-range')).toBe(`bytes 70000-139999/${bytes.length}`);
  expect(sha256(Buffer.concat(parts.map((part) => part.bytes)))).toBe(body['sha256']);
  expect([tail?.bytes.length, from?.bytes.length]).toEqual([5, 3]);
  expect([several, outside, backwards].map((reply) => [reply?.status, reply?.bytes.length])).toEqual(Array(3).fill([200, bytes.length]));
  expect([stale.status, fresh.status]).toEqual([200, 206]);
});

test('a known ETag answers 304 without bytes', async () => {
  const { tokens } = await world.tenant();
  const { body } = await upload(world, tokens.member, 'text');

  const known = await download(world, tokens.member, body['id'], { 'if-none-match': `"other", W/"${body['sha256']}"` });

  expect([known.status, known.bytes.length, known.headers.get('etag')]).toEqual([304, 0, `"${body['sha256']}"`]);
});

test.each([
  ['a renamed program', Buffer.from('7f454c4602010100000000000000000002003e00', 'hex'), 'report.pdf'],
  ['a Windows program called text', Buffer.from(`MZ${'\0'.repeat(100)}`), 'notes.txt'],
  ['WebAssembly', Buffer.from('0061736d01000000', 'hex'), 'a.bin'],
  ['a type that is not listed', Buffer.from('Rar!\u001a\u0007\u0000________', 'latin1'), 'a.zip'],
  ['bytes that are neither type nor text', Buffer.from([1, 2, 0xff, 0xfe, 9]), 'a.txt'],
  ['text with U+0000', Buffer.from('a\0b'), 'a.txt'],
  ['text that ends within a character', Buffer.concat([Buffer.alloc(9_000, 'a'), Buffer.from([0xe2, 0x82])]), 'a.txt'],
])('%s is 415 and leaves nothing', async (_name, content, filename) => {
  const { tokens } = await world.tenant();
  const before = storedFiles();

  const refused = await upload(world, tokens.member, content, { filename });

  expect([refused.status, refused.body['code']]).toEqual([415, 'unsupported_media_type']);
  expect(storedFiles()).toEqual(before);
});

test.each([
  ['a.md', '# Hi', 'text/markdown'],
  ['a.JSON', '{}', 'application/json'],
  ['a.csv', 'a,b', 'text/csv'],
  ['constructor', '', 'text/plain'],
  ['a.exe', 'only words', 'text/plain'],
  ['a.ttf', Buffer.from('00010000000a008000030020', 'hex'), 'font/ttf'],
  ['a.docx', Buffer.from('504b0304140000000800', 'hex'), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
])('%s is told by its bytes, its name deciding between texts', async (filename, content, mediaType) => {
  const { tokens } = await world.tenant();

  const { body } = await upload(world, tokens.member, content, { filename, headers: {} });

  expect(body['media_type']).toBe(mediaType);
});

test.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\temp\\x.txt', 'x.txt'],
  ['..', 'file'],
  ['a\u202Etxt.exe', 'atxt.exe'],
  ['e\u0301.txt', 'é.txt'],
  [`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
])('the name %j is kept as the label %j and names no file', async (filename, label) => {
  const { tokens } = await world.tenant();

  const { status, body } = await upload(world, tokens.member, 'text', { filename });

  expect([status, body['filename']]).toEqual([201, label]);
  expect(storedFiles().every((file) => /\/[0-9a-f]{48}$/.test(file))).toBe(true);
});

test('a body over the limit is 413, told by its length or while it comes, and leaves nothing', async () => {
  const { tokens } = await world.tenant();
  const before = storedFiles();

  const declared = await upload(world, tokens.member, Buffer.alloc(maxBytes + 70_000, 'a'));
  const counted = await upload(world, tokens.member, Buffer.alloc(maxBytes + 1, 'a'));
  const whole = await upload(world, tokens.member, Buffer.alloc(maxBytes, 'a'));

  for (const refused of [declared, counted])
    expect([refused.status, refused.body['code'], refused.body['context']]).toEqual([
      413,
      'payload_too_large',
      expect.objectContaining({ limit_bytes: maxBytes }),
    ]);
  expect(whole.status).toBe(201);
  expect(storedFiles()).toHaveLength(before.length + 1);
});

test.each([
  ['no file', { purpose: 'other' }, null, '/file', 'required'],
  ['an unknown field', { color: 'red' }, 'x', '/color', 'unknown_parameter'],
  ['an unknown purpose', { purpose: 'fun' }, 'x', '/purpose', 'enum'],
  ['a workspace that is no id', { workspace_id: 'x' }, 'x', '/workspace_id', 'format'],
  ['a file that is a text', { file: 'x' }, null, '/file', 'type'],
])('a form with %s is 422 and leaves nothing', async (_name, fields, content, pointer, rule) => {
  const { tokens } = await world.tenant();
  const before = storedFiles();
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (content !== null) form.append('file', new Blob([content]), 'a.txt');
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';

  const refused = await send(world, tokens.member, Buffer.from(await encoded.arrayBuffer()), { 'content-type': type });

  expect(refused.status).toBe(422);
  expect(refused.body['errors']).toContainEqual(expect.objectContaining({ in: 'form', pointer, rule }));
  expect(storedFiles()).toEqual(before);
});

test('two files, a broken form and another media type are refused', async () => {
  const { tokens } = await world.tenant();
  const part = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"; filename="a.txt"\r\n\r\nabc\r\n`;
  const type = { 'content-type': 'multipart/form-data; boundary=b' };

  const two = await send(world, tokens.member, `${part('file')}${part('file')}--b--\r\n`, type);
  const cut = await send(world, tokens.member, part('file'), type);
  const bare = await send(world, tokens.member, part('file'), { 'content-type': 'multipart/form-data; x=y' });
  const json = await send(world, tokens.member, '{}', { 'content-type': 'application/json' });

  expect(two.body['errors']).toEqual([expect.objectContaining({ pointer: '/file', rule: 'maxItems' })]);
  expect([cut.status, bare.status, json.status]).toEqual([400, 400, 415]);
  expect(json.headers.get('accept-post')).toBe('multipart/form-data');
});

test('a client that goes away in the middle leaves nothing', async () => {
  const { tokens } = await world.tenant();
  const before = storedFiles();
  const { hostname, port } = new URL(world.api.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tokens.member}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 200000\r\n\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${'a'.repeat(100_000)}`,
  );

  await until(async () => storedFiles().length > before.length);
  socket.destroy();

  await until(async () => storedFiles().length === before.length);
});

test('the same key uploads once; other bytes under it are refused', async () => {
  const { tokens, organizationId } = await world.tenant();
  const headers = { 'idempotency-key': 'k1' };

  const first = await upload(world, tokens.member, 'one', { headers });
  const again = await upload(world, tokens.member, 'one', { headers });
  const other = await upload(world, tokens.member, 'two', { headers });
  const found = await sweep(world.api.db, (em) => rows(em, 'select id from attachments where organization_id = ?', [organizationId]));

  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.bytes.equals(first.bytes)).toBe(true);
  expect([other.status, other.body['code']]).toEqual([422, 'idempotency_key_mismatch']);
  expect(found).toHaveLength(1);
});

test('unlinked files are seen by uploader and admins; a foreign one is the same 404 as none', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const made = await upload(world, mine.tokens.member, 'mine');
  const asJson = { accept: 'application/json' };

  const [member, viewer, admin, foreign] = await Promise.all(
    [mine.tokens.member, mine.tokens.viewer, mine.tokens.admin, other.tokens.admin].map((token) =>
      download(world, token, made.body['id'], asJson),
    ),
  );
  const none = await download(world, other.tokens.admin, crypto.randomUUID(), asJson);

  expect([member?.status, viewer?.status, admin?.status, foreign?.status]).toEqual([200, 404, 200, 404]);
  expect(foreign?.body['code']).toBe(none.body['code']);
});

test('a viewer may not upload, and a foreign workspace does not resolve', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);

  const viewer = await upload(world, mine.tokens.viewer, 'x');
  const foreign = await upload(world, mine.tokens.member, 'x', { fields: { workspace_id: other.workspaceId } });

  expect([viewer.status, foreign.status]).toEqual([403, 422]);
  expect(foreign.body['errors']).toEqual([expect.objectContaining({ pointer: '/workspace_id', rule: 'reference' })]);
});
