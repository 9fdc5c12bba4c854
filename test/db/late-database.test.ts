import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { isUnavailable } from '../../db/errors.ts';
import { connectDatabases, whenDatabaseAnswers } from '../../db/orm.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

let database: TestDatabase;
let way: TcpProxy;
beforeAll(async () => {
  database = await testDatabase();
  const { hostname, port } = new URL(database.appUrl);
  way = await startTcpProxy({ host: hostname, port: Number(port) });
});
afterAll(async () => {
  await way.close();
  await database.drop();
});

function open(change: (url: URL) => void) {
  const through = (text: string) => {
    const url = new URL(text);
    url.port = String(way.port);
    change(url);
    return url.href;
  };
  const settings = { poolMax: 2, applicationName: 'longhaul-test', log: pino({ level: 'silent' }) };
  return connectDatabases({ ...settings, appUrl: through(database.appUrl), sweeperUrl: through(database.sweeperUrl) });
}

test('a process that starts before its database answers waits for it', async () => {
  way.cut();
  const opening = open(() => undefined);
  await delay(3_000);
  way.mend();

  const db = await opening;
  await db.close();
});

test('what a process asks at its start, in a transaction too, is asked again while the database does not answer', async () => {
  const db = await open(() => undefined);
  way.cut();
  const asking = whenDatabaseAnswers(() => sweep(db, (em) => rows<{ n: number }>(em, 'select 1 as n')));
  await delay(3_000);
  way.mend();

  expect(await asking).toEqual([{ n: 1 }]);
  await db.close();
});

test('a database that does not let the role in is not waited for', async () => {
  const refused = await open((url) => (url.password = 'another')).catch((error: unknown) => error);

  expect(refused).toMatchObject({ code: '28P01' });
  expect(isUnavailable(refused)).toBe(false);
});
