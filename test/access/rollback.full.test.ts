import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { rollbackFaults } from './checks/audit.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';

jest.setTimeout(900_000);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test('G9: a mutation whose commit fails leaves no audit entry, and nothing else', async () => {
  expect(lines(await rollbackFaults(stage))).toEqual([]);
});
