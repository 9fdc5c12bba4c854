import { expect, test } from '@jest/globals';
import { commentable } from '../../../ports/diff/anchors.ts';
import { decodePatch } from '../../../ports/diff/decode-patch.ts';
import { parsePatch, type FilePatch } from '../../../ports/diff/patch.ts';
import { releasesOf, type Release } from './releases.ts';
import { createRepository, type TestRepository } from './repository.ts';

// What people change between two releases: hundreds of files, renames with edits, generated and minified ones, files that come and go.
test.each([
  ['undici', 100],
  ['zod', 500],
  ['yaml', 100],
  ['nodemailer', 50],
  ['uuid', 100],
  ['glob', 50],
  ['js-yaml', 20],
])('two releases of %s: files, counts of lines, renames and every line are those of git, on both sides', (name, atLeast) => {
  using repository = createRepository();
  const { before, after } = releasesOf(name);
  const from = commitRelease(repository, before);
  for (const path of before.keys()) repository.remove(path);
  const to = commitRelease(repository, after);

  const patches = parsePatch(decodePatch(repository.diff(from, to)));

  expect(patches.length).toBeGreaterThanOrEqual(atLeast);
  const wanted = countsOf(repository.git('diff', '-M', '--numstat', '-z', from, to));
  expect(new Map(patches.map((patch) => [patch.path, countOf(patch)]))).toEqual(wanted);
  const faults = patches.flatMap((patch) => [
    ...wrongLines(patch, 'LEFT', before.get(patch.previousPath ?? patch.path)),
    ...wrongLines(patch, 'RIGHT', after.get(patch.path)),
  ]);
  expect(faults).toEqual([]);
});

function commitRelease(repository: TestRepository, release: Release): string {
  for (const [path, bytes] of release) repository.write(path, bytes);
  return repository.commit();
}

const countOf = ({ previousPath, binary, hunks }: FilePatch): string => {
  const count = (kind: string) => hunks.flatMap(({ lines }) => lines).filter((line) => line.kind === kind).length;
  return binary ? `binary ${previousPath ?? ''}` : `+${count('added')} -${count('removed')} ${previousPath ?? ''}`;
};

/** What `git diff --numstat -z` says of each file: `added TAB removed TAB path`, of a rename `added TAB removed TAB` and both paths after it. */
function countsOf(numstat: string): Map<string, string> {
  const counts = new Map<string, string>();
  const parts = numstat.split('\0');
  for (let at = 0; at < parts.length - 1; at += 1) {
    const [added, removed, own] = (parts[at] ?? '').split('\t');
    const [previous, path] = own === '' ? [parts[(at += 1)] ?? '', parts[(at += 1)] ?? ''] : ['', own ?? ''];
    counts.set(path, added === '-' ? `binary ${previous}` : `+${added} -${removed} ${previous}`);
  }
  return counts;
}

/** Lines that can be commented on and are shown otherwise than they stand in the file. */
function wrongLines(patch: FilePatch, side: 'LEFT' | 'RIGHT', bytes: Buffer | undefined): string[] {
  const where = commentable(patch);
  const lines = bytes === undefined ? [] : decodePatch(bytes).split('\n');
  const shown = patch.hunks.flatMap((hunk) => hunk.lines);
  return shown.flatMap(({ kind, oldLine, newLine }) => {
    const line = side === 'LEFT' ? oldLine : newLine;
    // What both sides have is commented on at the right.
    if (line === null || (side === 'LEFT' && kind === 'context')) return [];
    const text = where.linesOf({ side, startLine: line, line }).at(-1)?.text;
    return text === lines[line - 1] ? [] : [`${patch.path} ${side} ${line}: ${text} is not ${lines[line - 1]}`];
  });
}
