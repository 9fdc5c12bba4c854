import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { accessTable } from './access-table.ts';
import { auditFaults, useOwnCredentials } from './checks/audit.ts';
import { credentialFaults } from './checks/credentials.ts';
import { tableFaults } from './checks/table.ts';
import { textFaults } from './checks/texts.ts';
import { checksums, differing } from './checksums.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';
import { actorSpecs } from './world/actors.ts';

jest.setTimeout(900_000);
const file = join(import.meta.dirname, 'access-table.md');

// The tests of this file look at one walk after another, in their order.
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test('the access table in the repository is that of the operations', () => {
  const table = accessTable(stage.operations);
  if (process.env['ACCESS_TABLE'] === 'write') writeFileSync(file, table);

  expect(readFileSync(file, 'utf8')).toBe(table);
});

test('G1, G2, G6: each operation answers each actor as the design says, and whoever is not of B changes nothing there', async () => {
  const { organizationId } = stage.world.b.organization;
  const before = await checksums(stage.world.rows, organizationId);

  const faults = await tableFaults(
    stage,
    stage.operations,
    actorSpecs.filter(({ sight }) => sight !== 'foreign'),
  );

  expect(lines(faults)).toEqual([]);
  expect(differing(before, await checksums(stage.world.rows, organizationId))).toEqual([]);
});

test('G1, G2: the owner of B finds nothing of A', async () => {
  expect(
    lines(
      await tableFaults(
        stage,
        stage.operations,
        actorSpecs.filter(({ sight }) => sight === 'foreign'),
      ),
    ),
  ).toEqual([]);
});

test('G1, G2: a bad credential or a rank below the floor is refused before anything else is looked at', async () => {
  expect(lines(await credentialFaults(stage))).toEqual([]);
});

test('G5: no reply showed anybody what is not theirs; log, refusals and metrics hold no tenant’s words', () => {
  expect(lines(stage.leaks.found)).toEqual([]);
  expect(lines(textFaults(stage))).toEqual([]);
  expect(stage.lines.length).toBeGreaterThan(stage.sent.length);
});

test('G9: each success of a mutation left exactly one entry with the registry’s action, all else none', async () => {
  await useOwnCredentials(stage);

  expect(lines(await auditFaults(stage))).toEqual([]);
});
