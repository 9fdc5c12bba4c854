import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { isFull } from '../chaos/whole.ts';
import { bodyFaults, pathFaults, queryFaults } from './checks/foreign.ts';
import { forbiddenFaults } from './checks/forbidden.ts';
import { listFaults } from './checks/lists.ts';
import { textFaults } from './checks/texts.ts';
import { checksums, differing } from './checksums.ts';
import { comparable, openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';

jest.setTimeout(900_000);

let stage: Stage;
let before: Readonly<Record<string, string>>;
beforeAll(async () => {
  // CI has everybody of A try; one of a workspace and one of the organization meet every predicate.
  stage = await openStage(isFull ? {} : { insiders: ['admin A1', 'owner A'] });
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

test('G4: ids of B in headers are answered as those of nobody, and an empty one is 422', async () => {
  const operation = stage.operations.find(({ operationId }) => operationId === 'listAgents');
  if (!operation) throw new Error('listAgents is not mounted');
  const { b, rows } = stage.world;
  const ask = (actor: string, headers: Record<string, string>) =>
    stage.send(operation, stage.world.actor(actor), { url: '/agents', headers });
  const user = String(rows.first('users', b.workspaces[0])?.['id']);

  for (const actor of ['admin A1', 'admin A', 'owner A', 'key A1']) {
    const [foreign, unknown] = [await ask(actor, { 'x-acting-user': user }), await ask(actor, { 'x-acting-user': crypto.randomUUID() })];
    expect([actor, foreign.status, comparable(foreign)]).toEqual([actor, 404, comparable(unknown)]);
    expect((await ask(actor, { 'x-acting-user': '' })).status).toBe(422);
    expect((await ask(actor, { 'x-view-organization': b.organization.organizationId })).status).toBe(403);
  }
  const strange = { 'x-view-workspace': b.workspaces[0].workspaceId };
  expect((await ask('operator in A', strange)).status).toBe(404);
  for (const name of ['x-view-organization', 'x-view-workspace']) expect((await ask('operator', { [name]: '' })).status).toBe(422);
});

test('G5, G6: all this has shown nobody anything of B, and has changed nothing there', async () => {
  expect(lines(stage.leaks.found)).toEqual([]);
  expect(lines(textFaults(stage))).toEqual([]);
  expect(differing(before, await checksums(stage.world.rows, stage.world.b.organization.organizationId))).toEqual([]);
});
