import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { bodyFaults, pathFaults, queryFaults } from './checks/foreign.ts';
import { listFaults } from './checks/lists.ts';
import { tableFaults } from './checks/table.ts';
import { checksums, differing } from './checksums.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';
import { actorSpecs } from './world/actors.ts';

jest.setTimeout(120_000);

// Every policy is open here: what is left out of a reply is left out by the queries' own predicates.
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ withoutPolicies: true });
});
afterAll(() => stage?.close());

test('without the policies every query still keeps to its tenant', async () => {
  const { organizationId } = stage.world.b.organization;
  const before = await checksums(stage.world.rows, organizationId);
  const readers = actorSpecs.filter(({ sight }) => sight === 'home' || sight === 'second' || sight === 'organization');

  expect(lines(await tableFaults(stage, stage.operations.filter(({ method }) => method === 'GET'), readers))).toEqual([]);
  expect(lines(await pathFaults(stage))).toEqual([]);
  expect(lines(await bodyFaults(stage))).toEqual([]);
  expect(lines(await queryFaults(stage))).toEqual([]);
  expect(lines(await listFaults(stage))).toEqual([]);
  expect(lines(stage.leaks.found)).toEqual([]);
  expect(differing(before, await checksums(stage.world.rows, organizationId))).toEqual([]);
});
