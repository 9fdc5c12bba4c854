import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { runAlone } from '../../db/orm.ts';
import { beginUnit, readUnit, systemActor, transact, workspaceTenant } from '../../db/scope.ts';
import { change, row, rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

let database: TestDatabase;
let world: World;
let unit: ReturnType<typeof unitOf>;

beforeAll(async () => {
  // One connection: whatever a statement leaves behind is met by the next.
  database = await testDatabase({ poolMax: 1 });
  world = await makeWorld(database.db);
  unit = unitOf(world);
});
afterAll(() => database.drop());

function unitOf({ organizationId, workspaceIds }: World) {
  return { tenant: workspaceTenant(organizationId, workspaceIds[0] ?? ''), actor: systemActor, correlationId: newId() };
}

const org = "select current_setting('app.org', true) as org, pg_current_xact_id_if_assigned() is not null as writes";

test('a transaction without statements commits and rolls back without a trace', async () => {
  await (await beginUnit(database.db, unit)).commit();
  await (await beginUnit(database.db, unit)).rollback();

  const { rows: seen } = await runAlone<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(seen[0]?.org ?? '').toBe('');
});

test('no statement runs when what stands before it fails', async () => {
  const settings = "select set_config('app.org', (1 / 0)::text, true)";
  const insert = "insert into organizations (id, name, slug) values ($1, 'x', 'x')";

  await expect(runAlone(database.db.app, { sql: insert, parameters: [newId()], settings })).rejects.toMatchObject({ code: '22012' });
  const { rows: left } = await runAlone<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(left[0]?.org ?? '').toBe('');
});

test('statements that come often keep working after faults and in both kinds of transaction', async () => {
  const agent = 'select id from agents where id = ? and 1 / ?::int >= 0';
  for (let n = 0; n < 12; n++) {
    const isFault = n % 3 === 2;
    const inside = transact(database.db, unit, ({ em }) => rows(em, agent, [world.agentId, isFault ? 0 : 1]));
    if (isFault) await expect(inside).rejects.toThrow();
    else expect((await inside).value).toEqual([{ id: world.agentId }]);

    const read = readUnit(database.db, unit).unit;
    expect(await rows(read.em, agent, [world.agentId, 1])).toEqual([{ id: world.agentId }]);
  }
});

test('a read sees its tenant in every statement, writes nothing and leaves the connection without one', async () => {
  const open = readUnit(database.db, unit);

  for (let n = 0; n < 2; n++) expect(await row(open.unit.em, org)).toEqual({ org: world.organizationId, writes: false });
  await expect(change(open.unit.em, "update agents set name = 'x' where id = ?", [world.agentId])).rejects.toMatchObject({ code: '25006' });
  const { rows: left } = await runAlone<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(left[0]?.org ?? '').toBe('');
});
