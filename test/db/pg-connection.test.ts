import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { runAlone } from '../../db/orm.ts';
import { beginUnit, readUnit, systemActor, transact, workspaceTenant } from '../../db/scope.ts';
import { change, row, rows, runLater } from '../../db/sql.ts';
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

const insertSession = (id: string, session: string) =>
  [
    `insert into conversations (id, organization_id, workspace_id, agent_id, session_key, created_at) values (?, ?, ?, ?, ?, now())`,
    [id, world.organizationId, world.workspaceIds[0], world.agentId, `${session}/${id}`],
  ] as const;
const sessionsOf = async (session: string) =>
  (await transact(database.db, unit, ({ em }) => rows(em, 'select id from conversations where session_key like ?', [`${session}/%`]))).value
    .length;

test('what is said to be later goes with the next statement, in order, which sees it', async () => {
  const session = newId();
  for (let n = 0; n < 8; n++) {
    const { value } = await transact(database.db, unit, async ({ em }) => {
      await runLater(em, ...insertSession(newId(), session));
      await runLater(em, 'update conversations set turn_no = turn_no + 1 where session_key like ?', [`${session}/%`]);
      return row<{ count: number; turns: number }>(
        em,
        'select count(*)::int as count, sum(turn_no)::int as turns from conversations where session_key like ?',
        [`${session}/%`],
      );
    });
    expect(value).toEqual({ count: n + 1, turns: ((n + 1) * (n + 2)) / 2 });
  }
});

test('what is said to be later and has nothing behind it goes with the commit, and with a rollback not at all', async () => {
  const session = newId();

  await transact(database.db, unit, ({ em }) => runLater(em, ...insertSession(newId(), session)));
  const open = await beginUnit(database.db, unit);
  await runLater(open.unit.em, ...insertSession(newId(), session));
  await open.rollback();
  const begun = await beginUnit(database.db, unit);
  await row(begun.unit.em, org);
  await runLater(begun.unit.em, ...insertSession(newId(), session));
  await begun.rollback();

  expect(await sessionsOf(session)).toBe(1);
});

test('a later statement that fails takes the transaction with it, and the connection goes on', async () => {
  const id = newId();
  const session = newId();
  await transact(database.db, unit, ({ em }) => runLater(em, ...insertSession(id, session)));

  for (let n = 0; n < 8; n++) {
    const behindIt = transact(database.db, unit, async ({ em }) => {
      await runLater(em, ...insertSession(id, newId()));
      await runLater(em, ...insertSession(newId(), session));
      return row(em, 'select ?::int as n', [n]);
    });
    const withCommit = transact(database.db, unit, ({ em }) => runLater(em, ...insertSession(id, newId())));
    await expect(behindIt).rejects.toMatchObject({ code: expect.stringMatching(/23505|already_exists/) });
    await expect(withCommit).rejects.toMatchObject({ code: expect.stringMatching(/23505|already_exists/) });
    await expect(
      transact(database.db, unit, async ({ em }) => {
        await runLater(em, 'select 1 / ?::int', [0]);
        await row(em, 'select ?::int + 1 as n', [n]);
      }),
    ).rejects.toThrow();
    expect((await transact(database.db, unit, ({ em }) => row(em, 'select ?::int + 1 as n', [n]))).value).toEqual({ n: n + 1 });
  }
  expect(await sessionsOf(session)).toBe(1);
});
