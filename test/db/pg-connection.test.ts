import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { Agent } from '../../db/agents/agent.entity.ts';
import { newId } from '../../db/ids.ts';
import { runInAutocommit } from '../../db/databases.ts';
import { openTransaction, openReadOnly, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { change, row, rows, queueStatement } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';
import { makeWorld, type World } from './world.ts';

let database: TestDatabase;
let world: World;
let tx: ReturnType<typeof transactionOf>;

beforeAll(async () => {
  // One connection: whatever a statement leaves behind is met by the next.
  database = await testDatabase({ poolMax: 1 });
  world = await makeWorld(database.db);
  tx = transactionOf(world);
});
afterAll(() => database.drop());

function transactionOf({ organizationId, workspaceIds }: World) {
  return { tenant: workspaceTenant(organizationId, workspaceIds[0] ?? ''), actor: systemActor, correlationId: newId() };
}

const org = "select current_setting('app.org', true) as org, pg_current_xact_id_if_assigned() is not null as writes";

test('a transaction without statements commits and rolls back without a trace', async () => {
  await (await openTransaction(database.db, tx)).commit();
  await (await openTransaction(database.db, tx)).rollback();

  const { rows: seen } = await runInAutocommit<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(seen[0]?.org ?? '').toBe('');
});

test('no statement runs when what stands before it fails', async () => {
  const settings = { sql: "select set_config('app.org', (1 / 0)::text, true)", parameters: [] };
  const insert = "insert into organizations (id, name, slug) values ($1, 'x', 'x')";

  await expect(runInAutocommit(database.db.app, { sql: insert, parameters: [newId()], settings })).rejects.toMatchObject({ code: '22012' });
  const { rows: left } = await runInAutocommit<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(left[0]?.org ?? '').toBe('');
});

test('statements that come often keep working after faults and in both kinds of transaction', async () => {
  const agent = 'select id from agents where id = ? and 1 / ?::int >= 0';
  for (let n = 0; n < 12; n++) {
    const isFault = n % 3 === 2;
    const inside = transact(database.db, tx, ({ em }) => rows(em, agent, [world.agentId, isFault ? 0 : 1]));
    if (isFault) await expect(inside).rejects.toThrow();
    else expect((await inside).value).toEqual([{ id: world.agentId }]);

    const read = openReadOnly(database.db, tx).tx;
    expect(await rows(read.em, agent, [world.agentId, 1])).toEqual([{ id: world.agentId }]);
  }
});

test('a statement that the server knows by name gives the same rows without being described: some, none, and of a kind that gives none', async () => {
  const described = countDescriptions();
  const some = 'select id, name, created_at, slug from agents where id = ? and 5 > ?::int';
  const none = 'update conversations set turn_no = turn_no where id = ? and 5 > ?::int';
  const first = (await transact(database.db, tx, ({ em }) => rows(em, some, [world.agentId, 1]))).value;

  for (let n = 0; n < 8; n++) {
    const { value } = await transact(database.db, tx, ({ em }) =>
      Promise.all([rows(em, some, [world.agentId, n]), change(em, none, [newId(), n]), rows(em, some, [world.agentId, n])]),
    );
    expect(value).toEqual(n < 5 ? [first, 0, first] : [[], 0, []]);
  }
  described.stop();
  const names = await transact(database.db, tx, ({ em }) =>
    rows(em, 'select name from pg_prepared_statements where statement like ?', ['select id, name, created_at, slug from agents%']),
  );

  expect(first).toHaveLength(1);
  expect(names.value).toHaveLength(1);
  expect(described.texts.filter((text) => text === 'name').length).toBeLessThan(8);
});

test('a statement that comes late gets the name of one that comes no more: each gives its own rows, also around faults, and names stay bounded', async () => {
  const ask = (n: number, times = 6) =>
    transact(database.db, tx, ({ em }) =>
      Promise.all(Array.from({ length: times }, () => row<object>(em, `select ?::int as value_${n}, '${n}' as text`, [n]))),
    ).then(({ value }) => value);
  const named = async (n: number) =>
    (
      await transact(database.db, tx, ({ em }) =>
        rows(em, `select name from pg_prepared_statements where statement like ?`, [`% as value_${n},%`]),
      )
    ).value.length;

  for (let n = 0; n < 230; n += 1) expect(await ask(n)).toEqual(Array.from({ length: 6 }, () => ({ [`value_${n}`]: n, text: `${n}` })));
  expect([await named(0), await named(229)]).toEqual([0, 1]);
  const failing = transact(database.db, tx, async ({ em }) => {
    await queueStatement(em, 'select 1 / ?::int as never', [0]);
    // Their names are those of others, which the server then still has.
    for (const n of [0, 1]) for (let at = 0; at < 6; at += 1) await queueStatement(em, `select ?::int as value_${n}, '${n}' as text`, [n]);
    await row(em, org);
  });
  await expect(failing).rejects.toMatchObject({ code: '22012' });
  for (const n of [0, 228, 1, 229]) expect(await ask(n, 2)).toEqual(Array.from({ length: 2 }, () => ({ [`value_${n}`]: n, text: `${n}` })));

  const all = await transact(database.db, tx, ({ em }) => rows(em, 'select name from pg_prepared_statements where name like ?', ['s%']));
  expect(all.value.length).toBeLessThanOrEqual(200);
});

test('a read sees its tenant in every statement, writes nothing and leaves the connection without one', async () => {
  const open = openReadOnly(database.db, tx);

  for (let n = 0; n < 2; n++) expect(await row(open.tx.em, org)).toEqual({ org: world.organizationId, writes: false });
  await expect(change(open.tx.em, "update agents set name = 'x' where id = ?", [world.agentId])).rejects.toMatchObject({ code: '25006' });
  const { rows: left } = await runInAutocommit<{ org: string | null }>(database.db.app, { sql: org, parameters: [] });
  expect(left[0]?.org ?? '').toBe('');
});

/** The columns that come described. */
function countDescriptions(): { readonly texts: string[]; stop(): void } {
  const { prototype } = pg.Query as unknown as { prototype: { handleRowDescription(message: { fields: { name: string }[] }): void } }; // pg's own
  const { handleRowDescription } = prototype;
  const texts: string[] = [];
  prototype.handleRowDescription = function counted(message) {
    texts.push(...message.fields.map(({ name }) => name));
    Reflect.apply(handleRowDescription, this, [message]);
  };
  return { texts, stop: () => void (prototype.handleRowDescription = handleRowDescription) };
}

/** How often something goes to PostgreSQL while `work` runs. */
async function roundTrips(work: () => Promise<void>): Promise<number> {
  const { query } = pg.Client.prototype;
  let trips = 0;
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    trips += 1;
    return Reflect.apply(query, this, args);
  } as typeof query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return trips;
}

const insertSession = (id: string, session: string) =>
  [
    `insert into conversations (id, organization_id, workspace_id, agent_id, session_key, created_at) values (?, ?, ?, ?, ?, now())`,
    [id, world.organizationId, world.workspaceIds[0], world.agentId, `${session}/${id}`],
  ] as const;
const sessionsOf = async (session: string) =>
  (await transact(database.db, tx, ({ em }) => rows(em, 'select id from conversations where session_key like ?', [`${session}/%`]))).value
    .length;

test('what is said to be later goes with the next statement, in order, which sees it', async () => {
  const session = newId();
  for (let n = 0; n < 8; n++) {
    const { value } = await transact(database.db, tx, async ({ em }) => {
      await queueStatement(em, ...insertSession(newId(), session));
      await queueStatement(em, 'update conversations set turn_no = turn_no + 1 where session_key like ?', [`${session}/%`]);
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

  await transact(database.db, tx, ({ em }) => queueStatement(em, ...insertSession(newId(), session)));
  const open = await openTransaction(database.db, tx);
  await queueStatement(open.tx.em, ...insertSession(newId(), session));
  await open.rollback();
  const begun = await openTransaction(database.db, tx);
  await row(begun.tx.em, org);
  await queueStatement(begun.tx.em, ...insertSession(newId(), session));
  await begun.rollback();

  expect(await sessionsOf(session)).toBe(1);
});

test('a later statement that fails takes the transaction with it, and the connection goes on', async () => {
  const id = newId();
  const session = newId();
  await transact(database.db, tx, ({ em }) => queueStatement(em, ...insertSession(id, session)));

  for (let n = 0; n < 8; n++) {
    const behindIt = transact(database.db, tx, async ({ em }) => {
      await queueStatement(em, ...insertSession(id, newId()));
      await queueStatement(em, ...insertSession(newId(), session));
      return row(em, 'select ?::int as n', [n]);
    });
    const withCommit = transact(database.db, tx, ({ em }) => queueStatement(em, ...insertSession(id, newId())));
    await expect(behindIt).rejects.toMatchObject({ code: expect.stringMatching(/23505|already_exists/) });
    await expect(withCommit).rejects.toMatchObject({ code: expect.stringMatching(/23505|already_exists/) });
    await expect(
      transact(database.db, tx, async ({ em }) => {
        await queueStatement(em, 'select 1 / ?::int', [0]);
        await row(em, 'select ?::int + 1 as n', [n]);
      }),
    ).rejects.toThrow();
    expect((await transact(database.db, tx, ({ em }) => row(em, 'select ?::int + 1 as n', [n]))).value).toEqual({ n: n + 1 });
  }
  expect(await sessionsOf(session)).toBe(1);
});

test('a name that a failed batch may not have made known is used by no other kind of transaction of its connection', async () => {
  const marked = `select 'marked ${newId()}' where ?::int > 0`;
  const unmarked = marked.replace('?', '$1');
  for (let n = 0; n < 3; n++) await runInAutocommit(database.db.app, { sql: unmarked, parameters: [n] });

  const failing = transact(database.db, tx, async ({ em }) => {
    await queueStatement(em, 'select 1 / ?::int as never', [0]);
    await queueStatement(em, marked, [1]);
    await row(em, org);
  });
  await expect(failing).rejects.toMatchObject({ code: '22012' });

  const { rows: seen } = await runInAutocommit(database.db.app, { sql: unmarked, parameters: [1] });
  expect(seen).toHaveLength(1);
});

test('statements that are asked for at once travel together, each gets its own answer, and later ones tell theirs before', async () => {
  const session = newId();
  const told: unknown[] = [];
  const trips = await roundTrips(async () => {
    const { value } = await transact(database.db, tx, async ({ em }) => {
      await queueStatement(em, ...insertSession(newId(), session));
      await queueStatement<{ n: number }>(em, 'select ?::int as n', [1], (found) => told.push(...found));
      const asked = await Promise.all([
        rows<{ n: number }>(em, 'select n from generate_series(1, ?::int) as n', [3]),
        change(em, 'update conversations set turn_no = turn_no + 1 where session_key like ?', [`${session}/%`]),
        row(em, 'select ?::text as nothing where false', ['x']),
        row<{ turns: number }>(em, 'select sum(turn_no)::int as turns from conversations where session_key like ?', [`${session}/%`]),
        rows<{ n: number }>(em, 'select n from generate_series(1, ?::int) as n', [2]),
      ]);
      return { asked, told: [...told] };
    });
    expect(value).toEqual({ asked: [[{ n: 1 }, { n: 2 }, { n: 3 }], 1, null, { turns: 1 }, [{ n: 1 }, { n: 2 }]], told: [{ n: 1 }] });
  });

  expect(trips).toBe(2);
  expect(await sessionsOf(session)).toBe(1);
});

test('of statements that are asked for at once all fail with the first that does, and nothing of them stays', async () => {
  const session = newId();
  // Often enough that they get names, which the connection has to keep in order.
  for (let n = 0; n < 8; n++) {
    const settled = await transact(database.db, tx, ({ em }) =>
      Promise.all([
        change(em, ...insertSession(newId(), session)),
        row(em, 'select 1 / ?::int as never, ?::text as session', [0, session]),
        row(em, 'select ?::int + 2 as n', [n]),
      ]),
    ).catch((error: unknown) => error);
    expect(settled).toMatchObject({ code: '22012' });
    expect((await transact(database.db, tx, ({ em }) => row(em, 'select ?::int + 2 as n', [n]))).value).toEqual({ n: n + 2 });
  }

  expect(await sessionsOf(session)).toBe(0);
});

test('a statement that comes after the end of its transaction is refused, and one beside held entities too', async () => {
  const session = newId();
  const open = await openTransaction(database.db, tx);
  await change(open.tx.em, ...insertSession(newId(), session));
  const ending = open.commit();
  await setImmediate(); // it is on its way
  await expect(change(open.tx.em, ...insertSession(newId(), session))).rejects.toThrow(/has ended|outside a transaction/);
  await ending;
  const given = await openTransaction(database.db, tx);
  await row(given.tx.em, org);
  const back = given.rollback();
  await setImmediate();
  await expect(queueStatement(given.tx.em, ...insertSession(newId(), session))).rejects.toThrow(/has ended|outside a transaction/);
  await back;
  const held = transact(database.db, tx, async ({ em }) => {
    await em.findOneOrFail(Agent, { id: world.agentId });
    await Promise.all([rows(em, org), rows(em, org)]);
  });

  await expect(held).rejects.toThrow('entities are held');
  expect(await sessionsOf(session)).toBe(1);
});

test('an answer that is not taken is the fault of the transaction, and harms no other', async () => {
  const untaken = transact(database.db, tx, ({ em }) =>
    queueStatement(em, 'select ?::int as n', [1], () => {
      throw new Error('not taken');
    }),
  );

  await expect(untaken).rejects.toThrow('not taken');
  expect((await transact(database.db, tx, ({ em }) => row(em, 'select ?::int as n', [2]))).value).toEqual({ n: 2 });
});

test('a transaction that a swallowed fault has broken does not pass for committed', async () => {
  const session = newId();
  const broken = transact(database.db, tx, async ({ em }) => {
    await change(em, ...insertSession(newId(), session));
    await row(em, 'select 1 / ?::int', [0]).catch(() => null);
  });

  await expect(broken).rejects.toThrow();
  expect(await sessionsOf(session)).toBe(0);
});

test('a value that can not be sent leaves no statement outside the transaction', async () => {
  const session = newId();
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const broken = transact(database.db, tx, async ({ em }) => {
    await queueStatement(em, ...insertSession(newId(), session));
    await row(em, 'select ?::jsonb', [circular]).catch(() => null);
    const { length } = await rows(em, org);
    expect(await row(em, org)).toEqual({ org: world.organizationId, writes: true });
    return length;
  });

  expect((await broken).value).toBe(1);
  expect(await sessionsOf(session)).toBe(1);
});

test('a connection that dies while a commit waits commits nothing, says so, and the pool goes on', async () => {
  const session = newId();
  const cutOff = () =>
    transact(database.db, tx, async ({ em }) => {
      await change(em, ...insertSession(newId(), session));
      await queueStatement(em, 'update agents set name = ? where id = ?', [session, world.agentId]);
    });

  await withAdmin(database.adminUrl, async (admin) => {
    await admin.query('begin');
    await admin.query('update agents set name = name where id = $1', [world.agentId]);
    const outcome = expect(cutOff()).rejects.toMatchObject({ code: 'service_unavailable' });
    const waiting = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await admin.query('select pg_stat_clear_snapshot()').then(() => admin.query(waiting))).rowCount === 1);
    await outcome;
    await admin.query('rollback');
  });

  expect(await sessionsOf(session)).toBe(0);
  const { value } = await transact(database.db, tx, ({ em }) => rows(em, 'select id from agents where name = ?', [session]));
  expect(value).toEqual([]);
});
