import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pino from 'pino';
import { newId } from '../../db/ids.ts';
import { connectDatabases } from '../../db/orm.ts';
import { runInAutocommit, type Databases } from '../../db/databases.ts';
import { prepared, type ParametersOf } from '../../db/prepared.ts';
import { query } from '../../db/query.ts';
import { openTransaction, openReadOnly, sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { sweeperRows } from '../../db/streams/archive.ts';
import { change, row, rows } from '../../db/sql.ts';
import { toFailure } from '../../db/errors.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/temporal.ts';
import { makeWorld, type World } from './world.ts';

// Three of them are one organization's share.
const connections = 5;

let database: TestDatabase;
let proxy: TcpProxy;
let db: Databases;
let world: World;

beforeAll(async () => {
  database = await testDatabase();
  world = await makeWorld(database.db);
  const { hostname, port } = new URL(database.appUrl);
  proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  db = await connect(through(database.appUrl), through(database.sweeperUrl));
});
afterEach(() => proxy.thaw());
afterAll(async () => {
  await db?.close();
  await proxy?.close();
  await database?.drop();
});

test.each(['53100', '53200'])(
  'a server without room on its disk or in memory (%s) is no bug of ours: later it may have some',
  async (state) => {
    const refused = await sweep(db, (em) => change(em, `do $$ begin raise exception using errcode = '${state}'; end $$`)).catch(
      (error: unknown) => error,
    );

    expect(toFailure(refused)).toMatchObject({ code: 'service_unavailable' });
  },
);

function connect(appUrl: string, sweeperUrl: string): Promise<Databases> {
  return connectDatabases({
    appUrl,
    sweeperUrl,
    poolMax: connections,
    applicationName: 'longhaul-test',
    statementTimeoutMs: 2_000,
    acquireTimeoutMs: 20_000,
    log: pino({ level: 'silent' }),
  });
}

function through(url: string): string {
  const other = new URL(url);
  other.hostname = '127.0.0.1';
  other.port = String(proxy.port);
  return other.href;
}

const tx = () => ({
  tenant: workspaceTenant(world.organizationId, world.workspaceIds[0] ?? ''),
  actor: systemActor,
  correlationId: newId(),
});
const one = 'select ?::int as n';
const lost = { code: 'service_unavailable' };

/** Opens all connections of the pool, so that the freeze meets idle ones. */
async function warm(): Promise<void> {
  await Promise.all(Array.from({ length: connections }, () => transact(db, tx(), ({ em }) => row(em, 'select pg_sleep(0.05)'))));
}

const number = prepared(({ n }: ParametersOf<{ readonly n: number }>) => query.selectNoFrom(sql<number>`${n}::int`.as('n')));

test.each<[string, () => Promise<unknown>]>([
  ['a read', () => rows(openReadOnly(db, tx()).tx.em, one, [1]).catch(translate)],
  ['a transaction', () => transact(db, tx(), ({ em }) => row(em, one, [1]))],
  ['a statement without parameters', () => transact(db, tx(), ({ em }) => rows(em, 'select 1'))],
  ['a job across tenants', () => sweep(db, (em) => row(em, one, [1]))],
  ['a read of the hub', () => sweeperRows(db, number({ n: 1 })).catch(translate)],
  ['a statement past the layers', () => runInAutocommit(db.app, { sql: 'select $1::int as n', parameters: [1] }).catch(translate)],
])('a server that is frozen ends %s as lost; once it goes on the pool is whole again', async (_, ask) => {
  await warm();
  proxy.freeze();

  await expect(ask()).rejects.toMatchObject(lost);
  proxy.thaw();

  await warm();
  expect((await transact(db, tx(), ({ em }) => row(em, one, [7]))).value).toEqual({ n: 7 });
});

test('after one connection fell silent the idle ones are replaced, not asked one by one', async () => {
  await warm();
  const pids = await pidsOf();
  proxy.freeze();
  await expect(transact(db, tx(), ({ em }) => row(em, one, [1]))).rejects.toMatchObject(lost);

  // It waits for a new connection, which the thaw lets through: an old one would still be used.
  const asked = transact(db, tx(), ({ em }) => row<{ pid: number }>(em, 'select pg_backend_pid() as pid'));
  await new Promise((resolve) => setImmediate(resolve));
  proxy.thaw();

  expect(pids).not.toContain((await asked).value?.pid);
});

test('what was sent without its commit takes no effect; a commit without an answer is a failure that may stand', async () => {
  const [unsent, sent] = [newId(), newId()];
  const open = await openTransaction(db, tx());
  await change(open.tx.em, ...insert(unsent));
  const other = await openTransaction(db, tx());
  await change(other.tx.em, ...insert(sent));
  proxy.freeze();

  await expect(row(open.tx.em, one, [1])).rejects.toThrow();
  await open.rollback();
  await expect(other.commit()).rejects.toMatchObject(lost);
  proxy.thaw();

  await until(async () => !(await isOpen()));
  expect(await stored(unsent)).toBe(false);
});

test('an answer that lay unread while this process was frozen is read', async () => {
  // Past the proxy, which is frozen with this process.
  const direct = await connect(database.appUrl, database.sweeperUrl);
  const { value } = await transact(direct, tx(), async ({ em }) => {
    await row(em, one, [1]);
    const answer = row<{ text: string }>(em, `select repeat('x', 100) as text, pg_sleep(0.2)`);
    await new Promise((resolve) => setImmediate(resolve)); // it has been sent
    // Stands still for longer than any answer may take: the answer lies there when it goes on.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
    return answer;
  });

  await direct.close();

  expect(value?.text).toHaveLength(100);
});

async function translate(error: unknown): Promise<never> {
  throw toFailure(error) ?? error;
}

function insert(id: string) {
  return [
    `insert into conversations (id, organization_id, workspace_id, agent_id, session_key, created_at) values (?, ?, ?, ?, ?, now())`,
    [id, world.organizationId, world.workspaceIds[0], world.agentId, id],
  ] as const;
}

async function stored(id: string): Promise<boolean> {
  const found = await transact(database.db, tx(), ({ em }) => row(em, 'select 1 as n from conversations where id = ?', [id]));
  return found.value !== null;
}

/** Whether a transaction that this test left behind is still open. */
async function isOpen(): Promise<boolean> {
  const found = await sweep(database.db, (em) =>
    row<{ open: boolean }>(
      em,
      `select exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and state like 'idle in transaction%') as open`,
    ),
  );
  return found?.open ?? false;
}

async function pidsOf(): Promise<(number | undefined)[]> {
  const found = await Promise.all(
    Array.from({ length: connections }, () =>
      transact(db, tx(), ({ em }) => row<{ pid: number }>(em, 'select pg_backend_pid() as pid, pg_sleep(0.05)')),
    ),
  );
  return found.map(({ value }) => value?.pid);
}
