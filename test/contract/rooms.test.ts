import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { areasInOneRoom } from './import-rules.ts';

const root = join(import.meta.dirname, '../..');
/** All areas before the first of them moved. A new one is none of them. */
const atFirst =
  'agents approvals attachments audit billing feedback http identity mcp oauth operator runs secrets skills streams tenancy toolkits tools triggers';
/** What changes rows: typed statements, text, entities. */
const writing =
  /\.(?:insertInto|updateTable|deleteFrom|mergeInto)\(|\bem\.(?:create|persist|remove|flush|native\w+)\(|\b(?:change|queueStatement|removeOne)\(|`(?:insert into|update|delete from|with )/;

const areas = readdirSync(join(root, 'db'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'migrations')
  .map(({ name }) => name);
const moved = areas.filter((area) => !areasInOneRoom.includes(area));

test('the list of areas in one room only shrinks, and every other area has its two', () => {
  expect(areasInOneRoom.filter((area) => !atFirst.split(' ').includes(area))).toEqual([]);
  expect(areasInOneRoom.filter((area) => existsSync(join(root, 'domain', area)))).toEqual([]);
  expect(areasInOneRoom.filter((area) => !areas.includes(area))).toEqual([]);
  expect(moved.filter((area) => !existsSync(join(root, 'domain', area)))).toEqual([]);
});

test('what changes rows of an area in two rooms is called by its rules alone', () => {
  const writers = moved.flatMap((area) => sourcesIn(`db/${area}`).filter((file) => writing.test(readFileSync(join(root, file), 'utf8'))));
  const callers = ['api', 'activities', 'workers', 'temporal', 'cli'].flatMap(sourcesIn);
  const passingBy = callers.flatMap((file) => {
    const imported = [...readFileSync(join(root, file), 'utf8').matchAll(/^import (?!type)[^;]*? from '((?:\.\.\/)+)([^']+)';/gm)];
    return imported.filter(([, , target]) => writers.includes(target ?? '')).map(([, , target]) => `${file} → ${target}`);
  });

  expect(writers).not.toEqual([]);
  expect(passingBy).toEqual([]);
});

test('an area in two rooms refuses nothing in db, but that a row is not there', () => {
  const refusing = moved
    .flatMap((area) => sourcesIn(`db/${area}`))
    .filter((file) => /\binvalid\(|\bfail\((?!'not_found'\))/.test(readFileSync(join(root, file), 'utf8')));

  expect(refusing).toEqual([]);
});

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
