import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { sorts } from '../../ports/untrusted/sorts.ts';

const root = join(import.meta.dirname, '../..');
const scripts: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
  .map((entry) => entry.name);
const documents = [
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'README.md',
  ...['docs', 'docs/adr', 'docs/security'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];

/** Paths of the repository that a document names in backticks, without those that have a placeholder. */
function pathsIn(document: string): string[] {
  const named = [...readFileSync(join(root, document), 'utf8').matchAll(/`([\w.-]+(?:\/[\w.{},-]+)+)`/g)].map(([, path = '']) => path);
  return named.filter((path) => folders.includes(path.split('/')[0] ?? '') && !/NNNN|\/x\.|[{},]/.test(path));
}

/** A path, also without its ending. */
const exists = (path: string) => ['', '.ts', '.md', '.test.ts'].some((ending) => existsSync(join(root, path + ending)));

test.each(documents)('%s names no file that is not there', (document) => {
  expect(pathsIn(document).filter((path) => !exists(path))).toEqual([]);
});

test('CONTRIBUTING names the files of a new table, twelve at most, and they are there', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (\d+) \| `([^`]+)` \|/gm)].map(([, at, path = '']) => ({ at: Number(at), path }));

  expect(rows.length).toBeGreaterThan(8);
  expect(rows.length).toBeLessThanOrEqual(12);
  expect(rows.map(({ at }) => at)).toEqual(rows.map((_, at) => at + 1));
  expect(pathsIn('CONTRIBUTING.md')).toEqual(expect.arrayContaining(rows.map(({ path }) => path).filter((path) => !/<|NNNN/.test(path))));
});

test.each(documents)('the npm scripts that %s names are there', (document) => {
  const named = [...readFileSync(join(root, document), 'utf8').matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name = '']) => name);

  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test('the limits of untrusted work in docs/security/untrusted-work.md are those of the code', () => {
  const text = readFileSync(join(root, 'docs/security/untrusted-work.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \|[^|]*\| ([\d.]+) s \| (\d+) s \| (\d+) MB \|/gm)];
  const written = rows.map(([, name, cpuS, wallS, mb]) => [name, Number(cpuS) * 1_000, Number(wallS) * 1_000, Number(mb)]);
  const inCode = Object.entries(sorts).map(([name, { limits }]) => [name, limits.cpuMs, limits.wallMs, limits.memoryMb]);

  expect(written.toSorted()).toEqual(inCode.toSorted());
});

test('the glossary has one row per term, with its meaning and the words that it replaces', () => {
  const rows = readFileSync(join(root, 'docs/GLOSSARY.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| **'));

  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => !/^\| \*\*.+?\| \S.*?\|[^|]*\|$/.test(row))).toEqual([]);
});
