import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deleteExpired, dropDeadLinks, expireUnlinked } from '../../../db/attachments/attachment-sweep.ts';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { zipOf, type ZipEntry } from '../../support/zip.ts';
import { upload } from '../attachments/uploads.ts';
import { openWorld, type Answer, type World } from '../world.ts';
import { freeSlug, makeSkill } from './skill-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c6300010000050001', 'hex');
const gif = Buffer.from('47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b', 'hex');
const markdown = (name: string, text = 'One line each.') => `---\nname: ${name}\ndescription: How we write.\n---\n\n${text}\n`;

interface Doc {
  readonly name: string;
  readonly media_type: string;
  readonly size_chars: number;
  readonly content?: string;
  readonly attachment_id?: string;
}

async function importing(token: string, entries: readonly ZipEntry[], more: object = {}): Promise<Answer> {
  const uploaded = await upload(world, token, zipOf(entries), { filename: 'skill.zip', fields: { purpose: 'skill' } });
  return world.call(token, 'POST', '/skills/import', { body: { attachment_id: uploaded.body['id'], ...more } });
}
const filesOf = (skill: Answer) => (skill.body.reference_docs as Doc[]).filter(({ attachment_id: id }) => id !== undefined);
const attachmentOf = (token: string, doc: Doc | undefined) =>
  world.call(token, 'GET', `/attachments/${doc?.attachment_id}`, { headers: { accept: 'application/json' } });
const bundle = (slug: string, more: readonly ZipEntry[] = []) => [
  { path: 'SKILL.md', content: markdown(slug) },
  { path: 'img/logo.png', content: png },
  { path: 'long.md', content: 'é'.repeat(262_145) },
  ...more,
];

test('a bundle of hundreds of documents is a skill; what is no text, or too long for one, belongs to it as a file', async () => {
  const { tokens } = await world.tenant();
  const slug = freeSlug();
  const texts = Array.from({ length: 498 }, (_, at) => ({ path: `ooxml/${at}.xsd`, content: `<a n="${at}"/>` }));

  const made = await importing(tokens.member, bundle(slug, texts));

  expect(made.status).toBe(201);
  expect(made.body.reference_docs).toHaveLength(500);
  expect(filesOf(made)).toEqual([
    expect.objectContaining({ name: 'img/logo.png', media_type: 'image/png', size_chars: png.length }),
    expect.objectContaining({ name: 'long.md', media_type: 'text/markdown', size_chars: 262_145 }),
  ]);
  expect(filesOf(made).every((doc) => !('content' in doc))).toBe(true);
  const shown = await attachmentOf(tokens.viewer, filesOf(made)[0]);
  expect(shown).toMatchObject({
    status: 200,
    body: { filename: 'logo.png', purpose: 'skill', linked: true, expires_at: null, state: 'ready' },
  });
  const over = await importing(tokens.member, bundle(freeSlug(), [...texts, { path: 'one.md', content: 'x' }]));
  expect(over).toMatchObject({ status: 422, body: { errors: [{ rule: 'maxItems', params: { limit: 500 } }] } });
});

test('fonts, archives and bytes of no known form are kept as they are; a program is named and costs the import', async () => {
  const { tokens } = await world.tenant();
  const files = [
    { path: 'a.ttf', content: Buffer.from('00010000000a008000030020', 'hex') },
    { path: 'b.bin', content: Buffer.from([1, 2, 0xff, 0xfe, 9]) },
    { path: 'c.txt', content: Buffer.from('d\xe9j\xe0', 'latin1') },
  ];

  const made = await importing(tokens.member, [{ path: 'SKILL.md', content: markdown(freeSlug()) }, ...files]);
  const refused = await importing(tokens.member, bundle(freeSlug(), [{ path: 'd.wasm', content: Buffer.from('0061736d01000000', 'hex') }]));

  expect(filesOf(made).map(({ name, media_type: type }) => [name, type])).toEqual([
    ['a.ttf', 'font/ttf'],
    ['b.bin', 'application/octet-stream'],
    ['c.txt', 'application/octet-stream'],
  ]);
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ rule: 'unsupported_files', params: { names: ['d.wasm'] } }] } });
});

test('the files of a skill are seen by whoever sees the skill, and by nobody else', async () => {
  const tenant = await world.tenant();
  const [other, { tokens, users, organizationOwner }] = [await world.tenant(), tenant];
  const narrow = await importing(tokens.member, bundle(freeSlug()));
  const wide = await importing(organizationOwner.token, bundle(freeSlug()), { scope: 'organization' });
  const slug = freeSlug();
  const mine = await makeSkill(world, tokens.member, { slug, owner_user_id: users.member.id });
  const hidden = await importing(tokens.member, bundle(slug), { on_conflict: 'new_version' });
  const seenBy = async (token: string) =>
    Promise.all([narrow, wide, hidden].map(async (skill) => (await attachmentOf(token, filesOf(skill)[0])).status));

  expect([narrow.status, wide.status, hidden.status]).toEqual([201, 201, 201]);
  expect(hidden.body.id).toBe(mine.id);
  expect((await attachmentOf(tokens.viewer, filesOf(wide)[0])).body.workspace_id).toBeNull();
  expect(await seenBy(tokens.member)).toEqual([200, 200, 200]);
  expect(await seenBy(tokens.viewer)).toEqual([200, 200, 404]);
  expect(await seenBy(tokens.admin)).toEqual([200, 200, 200]);
  expect(await seenBy(other.tokens.admin)).toEqual([404, 404, 404]);
});

test('a file that a next version brings again stays the one that it was; a change of the texts keeps the files', async () => {
  const { tokens } = await world.tenant();
  const slug = freeSlug();
  const first = await importing(tokens.member, bundle(slug, [{ path: 'a.gif', content: gif }]));
  const same = await importing(tokens.member, bundle(slug, [{ path: 'a.gif', content: gif }]), { on_conflict: 'new_version' });
  const next = await importing(tokens.member, bundle(slug, [{ path: 'a.gif', content: png }]), { on_conflict: 'new_version' });
  const { etag } = (await world.call(tokens.member, 'GET', `/skills/${next.body.id}`)).headers;
  const changed = await world.call(tokens.member, 'PATCH', `/skills/${next.body.id}`, {
    headers: { 'if-match': etag ?? '' },
    body: { reference_docs: [{ name: 'new.md', content: 'New.' }] },
  });
  const ids = (skill: Answer) => filesOf(skill).map(({ attachment_id: id }) => id);

  expect([first.body.version, same.body.version, next.body.version, changed.body.version]).toEqual([1, 1, 2, 3]);
  expect(ids(same)).toEqual(ids(first));
  expect(ids(next).map((id) => ids(first).includes(id))).toEqual([false, true, true]);
  expect(changed.body.reference_docs.map(({ name }: Doc) => name)).toEqual(['new.md', 'a.gif', 'img/logo.png', 'long.md']);
  expect((await attachmentOf(tokens.viewer, filesOf(first)[0])).status).toBe(200);
});

test('the files of a deleted skill are gone with the next sweep, and those of the others are not', async () => {
  const { tokens } = await world.tenant();
  const [gone, stays] = [await importing(tokens.member, bundle(freeSlug())), await importing(tokens.member, bundle(freeSlug()))];

  await world.call(tokens.admin, 'DELETE', `/skills/${gone.body.id}`);
  await sweep(world.api.db, async (em) => [await dropDeadLinks(em, 100), await expireUnlinked(em, 100), await deleteExpired(em, 100)]);

  for (const doc of filesOf(gone)) expect((await attachmentOf(tokens.admin, doc)).status).toBe(404);
  for (const doc of filesOf(stays)) expect((await attachmentOf(tokens.admin, doc)).status).toBe(200);
});

test('types that are not kept are told by name, or left out; a skill of the platform keeps no files', async () => {
  const { tokens } = await world.tenant();
  const files = [...bundle(freeSlug()), { path: 'run.exe', content: Buffer.from(`MZ${'\0'.repeat(200)}`) }];

  const refused = await importing(tokens.member, files);
  const skipped = await importing(tokens.member, files, { skip_unsupported: true });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ rule: 'unsupported_files', params: { names: ['run.exe'] } }] } });
  expect(filesOf(skipped).map(({ name }) => name)).toEqual(['img/logo.png', 'long.md']);
});

test('what YAML would have read otherwise is told in the audit log, with its line', async () => {
  const { tokens } = await world.tenant();
  const source = `---\nname: ${freeSlug()}\ndescription: Use when X. Keywords: foo, #1\n---\nText.`;

  const made = await world.call(tokens.member, 'POST', '/skills/import', { body: { markdown: source } });

  expect(made).toMatchObject({ status: 201, body: { description: 'Use when X. Keywords: foo, #1' } });
  const entries = await sweep(world.api.db, (em) =>
    rows<{ changes: object }>(em, "select changes from audit_entries where resource_id = ? and action = 'create'", [made.body.id]),
  );
  expect(entries).toMatchObject([{ changes: { front_matter: { to: expect.stringMatching(/^line 3: /) } } }]);
});
