import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { bodyFaults, pathFaults, queryFaults } from './checks/foreign.ts';
import { forbiddenFaults } from './checks/forbidden.ts';
import { listFaults } from './checks/lists.ts';
import { textFaults } from './checks/texts.ts';
import { checksums, differing } from './checksums.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';

jest.setTimeout(120_000);

let stage: Stage;
let before: Readonly<Record<string, string>>;
beforeAll(async () => {
  stage = await openStage();
  before = await checksums(stage.world.rows, stage.world.b.organization.organizationId);
});
afterAll(() => stage?.close());

test('G3: an id of B or of another workspace in a path is answered as one of nobody; so is a child of another parent', async () => {
  expect(lines(await pathFaults(stage))).toEqual([]);
});

test('G4: an id of B in a body or a query is answered as one of nobody, and an empty one is none', async () => {
  expect(lines(await bodyFaults(stage))).toEqual([]);
  expect(lines(await queryFaults(stage))).toEqual([]);
});

test('G7: filters, cursors and totals tell nothing of B', async () => {
  expect(lines(await listFaults(stage))).toEqual([]);
});

test('G8: a visible row that is not the actor’s to change is 403 and stays as it is', async () => {
  expect(lines(await forbiddenFaults(stage))).toEqual([]);
});

test('G5, G6: all this has shown nobody anything of B, and has changed nothing there', async () => {
  expect(lines(stage.leaks.found)).toEqual([]);
  expect(lines(textFaults(stage))).toEqual([]);
  expect(differing(before, await checksums(stage.world.rows, stage.world.b.organization.organizationId))).toEqual([]);
});
