import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commentable } from '../../../ports/diff/anchors.ts';
import { decodePatch } from '../../../ports/diff/decode-patch.ts';
import { hashesOf, hunkHash } from '../../../ports/diff/hunk-hash.ts';
import { parseHunks, parsePatch, PatchError, type FilePatch } from '../../../ports/diff/patch.ts';
import { createRepository, type TestRepository } from './repository.ts';

const manyLines = (count: number, text = 'line') => Array.from({ length: count }, (_, at) => `${text} ${at + 1}\n`).join('');

/** The patch between two states that a test makes. */
function patchOf(before: (repository: TestRepository) => void, after: (repository: TestRepository) => void): FilePatch[] {
  using repository = createRepository();
  before(repository);
  const from = repository.commit();
  after(repository);
  return parsePatch(decodePatch(repository.diff(from, repository.commit())));
}

describe('what git prints is read as it is meant', () => {
  test('carriage returns and tabs stay in the text, a missing line feed is told', () => {
    const [file] = patchOf(
      (each) => each.write('a.txt', 'one\r\ntwo\r\nthree'),
      (each) => each.write('a.txt', 'one\r\n\ttwo\r\nthree\r\n'),
    );

    expect(file?.hunks[0]?.lines).toEqual([
      { kind: 'context', text: 'one\r', oldLine: 1, newLine: 1 },
      { kind: 'removed', text: 'two\r', oldLine: 2, newLine: null },
      { kind: 'removed', text: 'three', oldLine: 3, newLine: null, noNewline: true },
      { kind: 'added', text: '\ttwo\r', oldLine: null, newLine: 2 },
      { kind: 'added', text: 'three\r', oldLine: null, newLine: 3 },
    ]);
  });

  test('a rename with edits has both paths, a pure one no hunks', () => {
    const files = patchOf(
      (each) => {
        each.write('old name.txt', manyLines(30));
        each.write('moved.txt', manyLines(20, 'other'));
      },
      (each) => {
        each.remove('old name.txt');
        each.write('new/näme.txt', manyLines(30).replace('line 15', 'line fifteen'));
        each.remove('moved.txt');
        each.write('new/moved.txt', manyLines(20, 'other'));
      },
    );

    expect(files.map(({ path, previousPath, status, hunks }) => [previousPath, path, status, hunks.length])).toEqual([
      ['moved.txt', 'new/moved.txt', 'renamed', 0],
      ['old name.txt', 'new/näme.txt', 'renamed', 1],
    ]);
  });

  test.each([
    'a b/c d.txt',
    'tab\there.txt',
    'quote".txt',
    'back\\slash.txt',
    'ünïcödé/日本.txt',
    'a b/x b/a b',
    'line\nfeed',
    ' lead',
    'trail ',
  ])('a path %j is itself, whatever becomes of its file', (path) => {
    const added = patchOf(
      () => undefined,
      (each) => each.write(path, 'one\n'),
    );
    const changed = patchOf(
      (each) => each.write(path, 'one\n'),
      (each) => each.write(path, 'two\n'),
    );
    const removed = patchOf(
      (each) => each.write(path, 'one\n'),
      (each) => each.remove(path),
    );
    const executable = patchOf(
      (each) => each.write(path, 'one\n'),
      (each) => each.makeExecutable(path),
    );
    const binary = patchOf(
      () => undefined,
      (each) => each.write(path, Buffer.from([0, 1, 2])),
    );
    const empty = patchOf(
      () => undefined,
      (each) => each.write(path, ''),
    );

    const all = [added, changed, removed, executable, binary, empty].map(([file]) => [file?.path, file?.status, file?.binary]);
    expect(all).toEqual([
      [path, 'added', false],
      [path, 'modified', false],
      [path, 'removed', false],
      [path, 'modified', false],
      [path, 'added', true],
      [path, 'added', false],
    ]);
  });

  test('links, submodules, modes and a file that becomes a link are told apart', () => {
    const files = patchOf(
      (each) => {
        each.write('became', 'a file\n');
        each.write('run.sh', 'true\n');
      },
      (each) => {
        each.remove('became');
        each.link('became', 'run.sh');
        each.link('link', 'nowhere');
        each.makeExecutable('run.sh');
        mkdirSync(join(each.folder, 'sub'));
        each.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
      },
    );

    expect(files.map(({ path, status, oldMode, newMode }) => [path, status, oldMode, newMode])).toEqual([
      ['became', 'type_changed', '100644', '120000'],
      ['link', 'added', null, '120000'],
      ['run.sh', 'modified', '100644', '100755'],
      ['sub', 'added', null, '160000'],
    ]);
    const sub = files.at(-1);
    expect(sub && commentable(sub).hunkOf({ side: 'RIGHT', startLine: 1, line: 1 })).toBeNull();
  });

  test('lines that look like heads of a patch are lines', () => {
    const odd = ['-- a/x', '++ b/x', '@@ -1 +1 @@', 'diff --git a/x b/x', '\\ No newline at end of file', '', ' '];
    const [removed, ...none] = patchOf(
      (each) => each.write('a.txt', `${odd.join('\n')}\n`),
      (each) => each.write('a.txt', 'gone\n'),
    );

    expect(none).toEqual([]);
    expect(removed?.hunks[0]?.lines.filter(({ kind }) => kind === 'removed').map(({ text }) => text)).toEqual(odd);
  });

  test('bytes that are no UTF-8 stay apart from each other', () => {
    const [file] = patchOf(
      (each) => each.write('a.txt', Buffer.from('caf\xe9\n', 'latin1')),
      (each) => each.write('a.txt', Buffer.from('caf\xe8\n', 'latin1')),
    );

    expect(file?.hunks[0]?.lines.map(({ text }) => text)).toEqual(['café', 'cafè']);
  });

  test('a text that was cut off, or is no patch, is refused', () => {
    const whole = 'diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n';

    expect(parsePatch(whole)).toHaveLength(1);
    expect(parseHunks(whole.slice(whole.indexOf('@@')))).toHaveLength(1);
    for (const cut of [whole.slice(0, -7), whole.replace('-1,2', '-1,9'), `x${whole}`, whole.replace('-two', '*two')])
      expect(() => parsePatch(cut)).toThrow(PatchError);
  });
});

describe('hashes of hunks', () => {
  const base = manyLines(60);
  const edited = base.replace('line 40\n', 'line forty\n');

  test('a hunk that moved keeps its hash; one whose text changed does not', () => {
    const [before] = patchOf(
      (each) => each.write('a', base),
      (each) => each.write('a', edited),
    );
    const [moved] = patchOf(
      (each) => each.write('a', `new\n${base}`),
      (each) => each.write('a', `new\n${edited}`),
    );
    const [other] = patchOf(
      (each) => each.write('a', base),
      (each) => each.write('a', edited.replace('forty', 'xl')),
    );

    expect(moved?.hunks[0]?.newStart).toBe((before?.hunks[0]?.newStart ?? 0) + 1);
    expect(moved?.hunks.map(hunkHash)).toEqual(before?.hunks.map(hunkHash));
    expect(other?.hunks.map(hunkHash)).not.toEqual(before?.hunks.map(hunkHash));
  });

  test('a neighbour that somebody else changes leaves the hash of the group', () => {
    const [before] = patchOf(
      (each) => each.write('a', base),
      (each) => each.write('a', edited),
    );
    const foreign = (text: string) => text.replace('line 38\n', 'line XXXVIII\n');
    const [after] = patchOf(
      (each) => each.write('a', foreign(base)),
      (each) => each.write('a', foreign(edited)),
    );

    const shared = hashesOf(after ?? fail()).filter((hash) => hashesOf(before ?? fail()).includes(hash));
    expect(after?.hunks.map(hunkHash)).not.toEqual(before?.hunks.map(hunkHash));
    expect(shared).toHaveLength(1);
  });

  function fail(): never {
    throw new Error('no patch');
  }
});
