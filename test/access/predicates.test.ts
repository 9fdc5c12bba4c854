import { afterEach, expect, jest, test } from '@jest/globals';
import { areas } from '../../api/operations.ts';
import { bodyFaults, pathFaults, queryFaults } from './checks/foreign.ts';
import { listFaults } from './checks/lists.ts';
import { tableFaults } from './checks/table.ts';
import { checksums, differing } from './checksums.ts';
import { spoilt, withoutPredicates } from './mutations.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';
import { actorSpecs } from './world/actors.ts';

jest.setTimeout(120_000);

// Two nets, tried one at a time.
let stage: Stage;
afterEach(() => stage?.close());

test('without the policies every query still keeps to its tenant', async () => {
  stage = await openStage({ withoutPolicies: true });
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

test('without the predicates the policies still keep B’s rows from A, for reading and for writing', async () => {
  stage = await openStage({ areas: spoilt(areas, withoutPredicates), isUnchecked: true });
  const { organizationId } = stage.world.b.organization;
  const before = await checksums(stage.world.rows, organizationId);
  const everyList = stage.operations.filter(({ method }) => method === 'GET');

  await tableFaults(stage, everyList, actorSpecs.filter(({ name }) => name === 'owner A' || name === 'admin A1'));
  await pathFaults(stage);
  await bodyFaults(stage);

  expect(lines(stage.leaks.found).filter((line) => /canary\.b|an id of b/.test(line))).toEqual([]);
  expect(differing(before, await checksums(stage.world.rows, organizationId))).toEqual([]);
});
