import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { unusedOperations } from './console-unused.ts';
import { contractOperations } from './contract.ts';

const root = join(import.meta.dirname, '../..');
const files = filesIn(join(root, 'console/src'));
const operations = contractOperations().filter(({ area }) => area !== 'Specified');

test('each operation is used by the console, or stands in a list with the reason why not', () => {
  const used = usedOperations();
  const listed = Object.values(unusedOperations).flat();

  expect(operations).toHaveLength(282);
  expect(used.filter((id) => listed.includes(id))).toEqual([]);
  expect([...used, ...listed].toSorted()).toEqual(operations.map(({ operation_id }) => operation_id).toSorted());
});

test('nothing imports the console, and it imports nothing of ours but the client', () => {
  const own = files.flatMap((file) => importsOf(file).map((target) => ({ file, target })));
  const leaving = own.filter(({ target }) =>
    /^(?:\.\.\/)+(?:api|activities|cli|clients|db|domain|ports|temporal|test|workers|workflows)\//.test(target),
  );
  const others = ['api', 'activities', 'cli', 'clients/typescript/src', 'db', 'domain', 'ports', 'temporal', 'workers', 'workflows']
    .flatMap((folder) => filesIn(join(root, folder)))
    .filter((file) => !file.startsWith(join(root, 'api/console/')));
  const entering = others.filter((file) => importsOf(file).some((target) => /(?:^|\/)console\/(?:src|vite)/.test(target)));

  expect(own.length).toBeGreaterThan(50);
  expect(own.some(({ target }) => target === '@longhaul/client')).toBe(true);
  expect(leaving).toEqual([]);
  expect(entering).toEqual([]);
});

test('no view writes markup, runs text or keeps a token where script can read it', () => {
  const faults = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const found =
      /dangerouslySetInnerHTML|\.innerHTML\b|\beval\(|new Function\(|insertAdjacentHTML|document\.write|document\.cookie|indexedDB|serviceWorker/.exec(
        text,
      );
    return found === null ? [] : [`${file}: ${found[0]}`];
  });

  expect(faults).toEqual([]);
});

/** By the client's methods, and for what comes before a session by path. */
function usedOperations(): string[] {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const called = new Set([...text.matchAll(/\bapi\s*\.\s*(\w+)(?:\.bind)?\(/g)].map(([, id = '']) => id));
  const posted = new Set([...text.matchAll(/(?:publicPost(?:<[^(]*>)?|fetch)\(\s*'(\/[a-z/-]+)'/g)].map(([, path = '']) => path));
  return operations
    .filter(({ operation_id, method, path }) => called.has(operation_id) || (method === 'POST' && posted.has(path)))
    .map(({ operation_id }) => operation_id);
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/(?:from|import\(|import)\s*'([^']+)'/g)].map(([, target = '']) => target);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
