import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { zipOf } from '../../support/zip.ts';
import { upload } from '../attachments/uploads.ts';
import { openWorld, type World } from '../world.ts';
import { freeSlug, makeSkill, promote } from './skill-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const markdown = (name: string) => `---\nname: ${name}\ndescription: How we write.\nlicense: MIT\n---\n\nOne line each.\n`;
const importing = (token: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'POST', '/skills/import', { body, headers });
const versionsOf = async (token: string, id: string) => (await world.call(token, 'GET', `/skills/${id}/versions`)).body.items;

async function attach(token: string, bytes: Buffer | string, filename: string): Promise<unknown> {
  const uploaded = await upload(world, token, bytes, { filename, fields: { purpose: 'skill' } });
  if (uploaded.status !== 201) throw new Error(`createAttachment: ${uploaded.status} ${JSON.stringify(uploaded.body)}`);
  return uploaded.body['id'];
}

test('markdown with its files and a zip with the same content are one skill with one hash', async () => {
  const { tokens } = await world.tenant();
  const [one, two] = [freeSlug(), freeSlug()];
  const sent = await importing(tokens.member, { slug: one, markdown: markdown('notes'), files: [{ path: 'docs/a.md', content: 'A' }] });
  const zip = zipOf([
    { path: 'notes/SKILL.md', content: `\uFEFF${markdown('notes').replaceAll('\n', '\r\n')}` },
    { path: 'notes/docs/a.md', content: 'A' },
  ]);
  const uploaded = await importing(tokens.member, { slug: two, attachment_id: await attach(tokens.member, zip, 'notes.zip') });

  expect(sent).toMatchObject({
    status: 201,
    body: { slug: one, origin: 'import', curation_state: 'pending', description: 'How we write.', instructions: 'One line each.' },
  });
  expect(sent.headers['location']).toBe(`/skills/${sent.body.id}`);
  expect(uploaded).toMatchObject({ status: 201, body: { slug: two, reference_docs: [{ name: 'docs/a.md', content: 'A' }] } });
  const [left, right] = [await versionsOf(tokens.viewer, sent.body.id), await versionsOf(tokens.viewer, uploaded.body.id)];
  expect(left).toMatchObject([{ version: 1, origin: 'import', front_matter: { license: 'MIT' } }]);
  expect(right[0].content_hash).toBe(left[0].content_hash);
});

test('a SKILL.md alone can be uploaded too, and the name becomes the slug', async () => {
  const { tokens } = await world.tenant();
  const attachment = await attach(tokens.member, markdown('"Release Notes, v2"'), 'SKILL.md');

  expect(await importing(tokens.member, { attachment_id: attachment })).toMatchObject({ status: 201, body: { slug: 'release-notes-v2' } });
});

test('a taken slug is refused, or gets a next version that waits for its curator; the same text adds none', async () => {
  const { tokens } = await world.tenant();
  const slug = freeSlug();
  const first = await importing(tokens.member, { markdown: markdown(slug) });
  await promote(world, tokens.admin, first.body);
  const again = { markdown: markdown(slug), on_conflict: 'new_version' };

  const refused = await importing(tokens.member, { markdown: markdown(slug) });
  const same = await importing(tokens.member, again);
  const next = await importing(tokens.member, { ...again, markdown: `${markdown(slug)}More.` });

  expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists' } });
  expect(same.body).toMatchObject({ id: first.body.id, version: 1, curation_state: 'promoted' });
  expect(next.body).toMatchObject({ id: first.body.id, version: 2, curation_state: 'pending' });
});

test('imports at once of one slug make one skill', async () => {
  const { tokens } = await world.tenant();
  const slug = freeSlug();

  const answers = await Promise.all(
    [1, 2, 3].map((at) => importing(tokens.member, { markdown: `${markdown(slug)}${at}`, on_conflict: 'new_version' })),
  );

  expect(answers.some(({ status }) => status === 201)).toBe(true);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  const stored = await sweep(world.api.db, (em) => rows(em, 'select id from skills where slug = ?', [slug]));
  expect(stored).toHaveLength(1);
});

test('a repeat with the same Idempotency-Key is the same skill', async () => {
  const { tokens } = await world.tenant();
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const body = { markdown: markdown(freeSlug()) };

  const [first, again] = [await importing(tokens.member, body, headers), await importing(tokens.member, body, headers)];

  expect(again.body).toEqual(first.body);
  expect(again.headers['idempotency-replayed']).toBe('true');
});

test.each<[string, Record<string, unknown>, string]>([
  ['nothing', {}, '/attachment_id'],
  ['both', { markdown: markdown('a'), attachment_id: crypto.randomUUID() }, '/attachment_id'],
  ['an attachment that is none', { attachment_id: crypto.randomUUID() }, '/attachment_id'],
  ['files beside an attachment', { attachment_id: crypto.randomUUID(), files: [{ path: 'a', content: '' }] }, '/files'],
  ['no name', { markdown: '---\ndescription: d\n---\nx' }, '/slug'],
  ['a name of signs', { markdown: '---\nname: "!!!"\ndescription: d\n---\nx' }, '/slug'],
  ['a name over 64', { markdown: `---\nname: ${'a'.repeat(65)}\ndescription: d\n---\nx` }, '/slug'],
  ['no description', { markdown: '---\nname: a\n---\nx' }, '/markdown'],
  ['a long description', { markdown: `---\nname: a\ndescription: ${'d'.repeat(1_025)}\n---\nx` }, '/markdown'],
  ['no text', { markdown: '---\nname: a\ndescription: d\n---\n\n' }, '/markdown'],
  ['a text over its bound', { markdown: `---\nname: a\ndescription: d\n---\n${'a'.repeat(65_537)}` }, '/markdown'],
  ['aliases', { markdown: '---\nname: &a x\ndescription: *a\n---\nx' }, '/markdown'],
  ['a file that leads out', { markdown: markdown('a'), files: [{ path: '../../etc/passwd', content: '' }] }, '/files/0/path'],
  ['a file with a backslash', { markdown: markdown('a'), files: [{ path: 'a\\b', content: '' }] }, '/files/0/path'],
  ['a second SKILL.md', { markdown: markdown('a'), files: [{ path: 'SKILL.md', content: '' }] }, '/files/0/path'],
])('an import of %s is 422 and stores nothing', async (_name, body, pointer) => {
  const { tokens } = await world.tenant();

  expect(await importing(tokens.member, body)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  expect((await world.call(tokens.viewer, 'GET', '/skills')).body.items).toEqual([]);
});

test("a zip that leads out, another tenant's attachment and a program are 422", async () => {
  const { tokens } = await world.tenant();
  const other = await world.tenant();
  const skill = { path: 'SKILL.md', content: markdown('a') };
  const zips = [
    zipOf([skill, { path: '../evil.md', content: 'x' }]),
    zipOf([skill, { path: 'a.bin', content: Buffer.from('0061736d01000000', 'hex') }]),
  ];

  const ids = [await attach(other.tokens.member, zipOf([skill]), 'a.zip')];
  for (const zip of zips) ids.push(await attach(tokens.member, zip, 'b.zip'));

  for (const id of ids) expect(await importing(tokens.member, { attachment_id: id })).toMatchObject({ status: 422 });
  const skipped = await importing(tokens.member, { attachment_id: ids[2], skip_unsupported: true });
  expect(skipped).toMatchObject({ status: 201, body: { reference_docs: [] } });
});

test('an import never touches a skill of another place', async () => {
  const tenant = await world.tenant();
  const slug = freeSlug();
  const wide = await makeSkill(world, tenant.organizationOwner.token, { slug, scope: 'organization' });

  const imported = await importing(tenant.tokens.member, { markdown: markdown(slug), on_conflict: 'new_version' });

  expect(imported).toMatchObject({ status: 201, body: { scope: 'workspace', version: 1 } });
  expect(imported.body.id).not.toBe(wide.id);
});
