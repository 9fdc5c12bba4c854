import { afterAll, expect, test } from '@jest/globals';
import { createSkillReader } from '../../ports/skills/reader.ts';
import { testWorkPool } from '../support/work-pool.ts';
import { zipOf, type ZipEntry } from '../support/zip.ts';

const skill: ZipEntry = { path: 'SKILL.md', content: '---\nname: notes\ndescription: Notes.\n---\nWrite.\n' };
const pool = testWorkPool();
const readBytes = (bytes: Buffer) => createSkillReader(pool).read('a', { kind: 'bundle', bytes, pointer: '/attachment_id' });
const read = (entries: readonly ZipEntry[]) => readBytes(zipOf(entries));

afterAll(() => pool.close());

const refused = (rule: string) => ({ code: 'validation_failed', errors: [{ pointer: '/attachment_id', rule }] });

test('a bundle with and without a folder around it, and the SKILL.md alone, are one skill', async () => {
  const files = [skill, { path: 'docs/limits.md', content: '50 EUR' }, { path: 'scripts/run.sh', content: '#!/bin/sh\nrm -rf /' }];
  const flat = await read(files);
  const nested = await read([{ path: 'notes/', mode: 0o040_755 }, ...files.map((file) => ({ ...file, path: `notes/${file.path}` }))]);
  const alone = await readBytes(Buffer.from(skill.content ?? ''));

  expect(nested).toEqual(flat);
  expect(flat.documents).toEqual([
    { name: 'docs/limits.md', content: '50 EUR' },
    { name: 'scripts/run.sh', content: '#!/bin/sh\nrm -rf /' },
  ]);
  expect({ ...flat, documents: [] }).toEqual(alone);
});

test('what macOS adds is left out', async () => {
  const mac = [
    { path: '__MACOSX/notes/._SKILL.md', content: Buffer.from([0, 5, 22, 7]) },
    { path: 'notes/.DS_Store', content: Buffer.from([0, 1]) },
  ];

  expect(await read([{ ...skill, path: 'notes/SKILL.md' }, ...mac])).toMatchObject({ name: 'notes', documents: [] });
});

test('what is no text, or too long for a document, is a file', async () => {
  const png = { path: 'logo.png', content: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]) };
  const long = { path: 'long.md', content: 'a'.repeat(262_145) };
  const short = { path: 'short.md', content: 'a'.repeat(262_144) };

  const { documents, files } = await read([skill, png, long, short]);

  expect(documents.map(({ name }) => name)).toEqual(['short.md']);
  expect(files.map(({ name, bytes, chars }) => [name, bytes.length, chars])).toEqual([
    ['logo.png', 6, null],
    ['long.md', 262_145, 262_145],
  ]);
});

test('where all texts together are too many, the longest are files', async () => {
  const texts = Array.from({ length: 12 }, (_, at) => ({ path: `${at}.md`, content: 'a'.repeat(200_000 + at) }));

  const { documents, files } = await read([skill, ...texts]);

  expect(files.map(({ name }) => name)).toEqual(['10.md', '11.md']);
  expect(documents).toHaveLength(10);
});

test.each([
  '../evil.md',
  'docs/../../evil.md',
  '..',
  'a/..',
  '/etc/passwd',
  'C:/evil.md',
  'c:evil.md',
  '..\\evil.md',
  'docs\\evil.md',
  '\\\\host\\share\\x',
  './../evil.md',
  'a//b.md',
  'a/./b.md',
  '.',
  'a\u0000.md',
  'a\u0001.md',
  'a\nb.md',
  `${'a'.repeat(201)}.md`,
  '../SKILL.md',
  '__MACOSX/../../x',
])('an entry called %j is refused whole', async (path) => {
  await expect(read([skill, { path, content: 'x' }])).rejects.toMatchObject(refused('path'));
});

test.each<[string, string, readonly ZipEntry[]]>([
  ['a link', 'link', [skill, { path: 'l.md', content: '/etc/passwd', mode: 0o120_777 }]],
  ['a link for a folder', 'link', [skill, { path: 'l', content: '..', mode: 0o120_777 }, { path: 'l/x.md', content: 'x' }]],
  ['a device', 'link', [skill, { path: 'd', mode: 0o020_666 }]],
  ['a fifo', 'link', [skill, { path: 'f', mode: 0o010_666 }]],
  ['two SKILL.md', 'uniqueItems', [skill, { ...skill, path: 'sub/SKILL.md' }]],
  ['two SKILL.md of one name', 'uniqueItems', [skill, skill]],
  ['two SKILL.md by case', 'uniqueItems', [skill, { ...skill, path: 'skill.md' }]],
  ['two entries of one name', 'uniqueItems', [skill, { path: 'a.md' }, { path: 'a.md', content: 'other' }]],
  ['none', 'required', [{ path: 'README.md', content: 'x' }]],
  ['a SKILL.md further in', 'required', [{ path: 'a/b/SKILL.md' }, { path: 'a/x.md' }]],
  ['nothing', 'required', []],
  ['1,001 entries', 'maxLength', [skill, ...Array.from({ length: 1_000 }, (_, at) => ({ path: `${at}.md` }))]],
  ['an entry over 8 MiB', 'maxLength', [skill, { path: 'big.txt', content: Buffer.alloc(8_388_609, 97) }]],
  ['an entry that claims less than it holds', 'zip', [skill, { path: 'bomb.txt', content: Buffer.alloc(60_000_000, 97), claimedSize: 10 }]],
  ['an entry that claims more than it holds', 'zip', [skill, { path: 'a.txt', content: 'a', claimedSize: 10 }]],
  [
    '17 MiB in all',
    'maxLength',
    [skill, ...Array.from({ length: 17 }, (_, at) => ({ path: `${at}.txt`, content: Buffer.alloc(1_048_576, 97) }))],
  ],
  ['an encrypted entry', 'zip', [skill, { path: 'a.md', content: 'x', flags: 1 }]],
  ['an unknown compression', 'zip', [skill, { path: 'a.md', content: 'x', method: 12 }]],
])('a bundle with %s is 422 %s', async (_name, rule, entries) => {
  await expect(read(entries)).rejects.toMatchObject(refused(rule));
});

test('an archive that is cut or garbled anywhere is 422 and never anything else', async () => {
  const whole = zipOf([skill, { path: 'a.md', content: 'text of a document '.repeat(50) }]);
  const answers = new Set<string>();

  for (let at = 4; at < whole.length; at += 3) {
    const garbled = Buffer.from(whole);
    garbled.writeUInt8(garbled.readUInt8(at) ^ 0xff, at);
    for (const bytes of [whole.subarray(0, at), garbled]) {
      const answer = await readBytes(bytes).then(
        () => 'read',
        (error: { code?: string }) => error.code ?? String(error),
      );
      answers.add(answer);
    }
  }
  expect([...answers].toSorted()).toEqual(['read', 'validation_failed']);
});

test('a SKILL.md that is not UTF-8 is 422', async () => {
  await expect(read([{ path: 'SKILL.md', content: Buffer.from([0xff, 0xfe, 0x41]) }])).rejects.toMatchObject(refused('encoding'));
});
