import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { liveOperations } from '../../api/http/operation/registry.ts';
import { areas } from '../../api/operations.ts';
import { markFaults } from './checks/marks.ts';
import { readSources, sourceFaults } from './checks/source.ts';
import { withoutMark } from './mutations.ts';

const sources = readSources(join(import.meta.dirname, '../..'));
const operations = liveOperations(areas);

test('G11: nothing goes around the transaction of its tenant but what is listed, with its reason', () => {
  expect(sourceFaults(sources)).toEqual([]);
});

test('G11: every id in every schema is marked with its kind', () => {
  expect(markFaults(operations)).toEqual([]);
});

test.each([
  "import { rows } from '../../db/sql.ts';",
  'const em = ctx.em.fork();',
  "await ctx.em.getConnection().execute('select 1');",
  'ctx.em.find(Agent, {}, { filters: false });',
  'await sweep(deps.db, async (em) => em);',
  'db.sweeper.em',
])('G13: `%s` in any folder is noticed', (line) => {
  for (const file of ['api/agents/agents.operations.ts', 'activities/runs/run-activities.ts', 'workers/activity-deps.ts'])
    expect(sourceFaults(new Map([...sources, [file, line]])).filter((fault) => fault.startsWith(file))).not.toEqual([]);
});

test('G13: one mark taken off, of any operation, is noticed', () => {
  const marked = operations.filter((operation) => JSON.stringify(operation.params ?? operation.body ?? {}).includes('x-id-of'));
  const unnoticed = marked.filter((operation) => markFaults([withoutMark(operation)]).length === 0);

  expect(marked.length).toBeGreaterThan(20);
  expect(unnoticed.map(({ operationId }) => operationId)).toEqual([]);
});
