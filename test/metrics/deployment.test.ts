import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { newId } from '../../db/ids.ts';
import { connectDatabases } from '../../db/orm.ts';
import type { Databases } from '../../db/databases.ts';
import { createPoolMetrics } from '../../db/postgres/pool-metrics.ts';
import { metricsPage } from '../../ports/metrics/exposition.ts';
import { createDeploymentMetrics } from '../../workers/deployment-metrics.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { samplesOf, sumOf, type Sample } from '../support/metrics.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';

const statements: string[] = [];
let database: TestDatabase;
let way: TcpProxy;
let db: Databases;
let registry: Registry;

beforeAll(async () => {
  database = await testDatabase();
  const { hostname, port } = new URL(database.appUrl);
  way = await startTcpProxy({ host: hostname, port: Number(port) });
  const [appUrl = '', sweeperUrl = ''] = [database.appUrl, database.sweeperUrl].map((url) => url.replace(/:\d+\//, `:${way.port}/`));
  const log = pino({ level: 'silent' });
  db = await connectDatabases({ appUrl, sweeperUrl, poolMax: 3, applicationName: 'test', log, onQuery: (sql) => statements.push(sql) });
  registry = new Registry();
  for (const metric of [...createDeploymentMetrics(db), ...createPoolMetrics(db)]) registry.registerMetric(metric);
});

afterAll(async () => {
  await db?.close();
  await way?.close();
  await database?.drop();
});

const gauges = [
  'longhaul_runs_live',
  'longhaul_queue_oldest_seconds',
  'longhaul_outbox_due',
  'longhaul_outbox_oldest_seconds',
  'longhaul_mails_waiting',
];

const scrape = async (accept?: string) => samplesOf((await metricsPage(registry, accept)).body);
const told = (samples: readonly Sample[]) => samples.map(({ name }) => name);

interface Entry {
  readonly kind: string;
  readonly age: string;
  /** Whether a try has put it off. */
  readonly isTried?: boolean;
  readonly isSent?: boolean;
  readonly payload?: object;
}

function addOutbox({ kind, age, isTried = false, isSent = false, payload = {} }: Entry): Promise<unknown> {
  return withAdmin(database.adminUrl, (admin) =>
    admin.query(
      `insert into outbox (id, kind, dedupe_key, target, payload, created_at, not_before, attempts, sent_at)
       values ($1::uuid, $2, $1::uuid::text, 'nothing', $3, now() - $4::interval, now() - case when $5 then interval '-1 hour' else $4::interval end,
               case when $5 then 7 else 0 end, case when $6 then now() end)`,
      [newId(), kind, JSON.stringify(payload), age, isTried, isSent],
    ),
  );
}

test('what is due and what waits is counted, and its age, however often it was tried and put off', async () => {
  await addOutbox({ kind: 'workflow.cancel', age: '100 seconds', isTried: true });
  await addOutbox({ kind: 'workflow.cancel', age: '50 seconds' });
  await addOutbox({ kind: 'workflow.cancel', age: '-100 seconds' });
  await addOutbox({ kind: 'mail', age: '500 seconds', isSent: true });
  await addOutbox({ kind: 'mail', age: '500 seconds', isSent: true, payload: { settled: 'sent' } });

  await until(async () => sumOf(await scrape(), 'longhaul_outbox_due') === 2);
  const samples = await scrape();

  expect(sumOf(samples, 'longhaul_outbox_oldest_seconds')).toBeGreaterThanOrEqual(100);
  expect(sumOf(samples, 'longhaul_mails_waiting')).toBe(1);
  expect(sumOf(samples, 'longhaul_scrape_errors')).toBe(0);
  expect(told(samples)).toEqual(expect.arrayContaining(gauges));
});

test('however many scrapes come, one reading of three statements serves them', async () => {
  await until(async () => {
    statements.length = 0;
    await Promise.all([
      metricsPage(registry, undefined),
      metricsPage(registry, 'application/openmetrics-text'),
      metricsPage(registry, undefined),
    ]);
    return statements.length > 0;
  });

  expect(statements.filter((sql) => /^\s*select/i.test(sql) && !sql.includes('set_config'))).toHaveLength(3);
});

test('each reading runs on an index of the rows that it counts', async () => {
  const plans = await withAdmin(database.adminUrl, async (admin) => {
    await admin.query('set enable_seqscan = off');
    const texts = [];
    for (const sql of statements.filter((text) => /^\s*select/i.test(text) && !text.includes('set_config')))
      texts.push(JSON.stringify((await admin.query(`explain (generic_plan, format json) ${sql}`)).rows));
    return texts;
  });

  expect(plans.map((plan) => /"Index Name":\s*"(\w+)"/.exec(plan)?.[1])).toEqual(['outbox_due_idx', 'runs_live_idx', 'outbox_mails_idx']);
});

const outages: readonly (readonly [string, () => void, () => void])[] = [
  ['is gone', () => way.cut(), () => way.mend()],
  ['answers no more', () => way.freeze(), () => way.thaw()],
];

test.each(outages)(
  'while PostgreSQL %s the page comes without its gauges and says so; afterwards they are back',
  async (_how, begin, end) => {
    await until(async () => sumOf(await scrape(), 'longhaul_scrape_errors') === 0);
    begin();

    await until(async () => sumOf(await scrape(), 'longhaul_scrape_errors') === 1);
    for (const accept of ['text/plain', 'application/openmetrics-text']) {
      const samples = await scrape(accept);
      expect(told(samples).filter((name) => gauges.includes(name))).toEqual([]);
      expect(sumOf(samples, 'longhaul_database_connections_max', { pool: 'app' })).toBe(3);
    }

    end();
    await until(async () => {
      const names = told(await scrape());
      return gauges.every((name) => names.includes(name));
    });
  },
);

test('the pools tell how they are used', async () => {
  await until(async () => sumOf(await scrape(), 'longhaul_scrape_errors') === 0);
  const release = Promise.withResolvers<void>();
  const held = Array.from({ length: 5 }, () =>
    db.app.em.fork().transactional(async (em) => {
      await em.getConnection().execute('select 1', [], 'all', em.getTransactionContext());
      await release.promise;
    }),
  );

  await until(async () => {
    const samples = await scrape();
    const use = (name: string) => sumOf(samples, name, { pool: 'app' });
    return use('longhaul_database_connections_in_use') === 3 && use('longhaul_database_waiting') === 2;
  });
  release.resolve();
  await Promise.allSettled(held);
  await until(async () => sumOf(await scrape(), 'longhaul_database_connections_idle', { pool: 'app' }) === 3);
});
