import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { startApi, type TestApi } from '../../support/api.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { testServices } from '../../support/services.ts';
import { withAdmin } from '../../support/template.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/temporal.ts';
import { bearer, makeTenant } from '../../support/tenant.ts';

let database: TestDatabase;
let api: TestApi;
let ways: Record<'postgres' | 'redis' | 'temporal', TcpProxy>;
beforeAll(async () => {
  database = await testDatabase();
  const services = testServices();
  const [postgres, redis, temporal] = await Promise.all([
    proxyTo(database.appUrl),
    proxyTo(services.redisUrl),
    proxyTo(`tcp://${services.temporalAddress}`),
  ]);
  ways = { postgres, redis, temporal };
  api = await startApi({
    database,
    hasOwnPools: true,
    env: {
      DATABASE_APP_URL: through(postgres, database.appUrl),
      DATABASE_SWEEPER_URL: through(postgres, database.sweeperUrl),
      REDIS_URL: through(redis, services.redisUrl),
      TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
    },
  });
});
afterAll(async () => {
  await api.close();
  await Promise.all(Object.values(ways).map((way) => way.close()));
  await database.drop();
});

interface Ready {
  readonly status: number;
  readonly checks: Record<string, string>;
  readonly body: { status?: string | number; draining?: boolean; code?: string; context?: { draining?: boolean } };
}

async function ready(): Promise<Ready> {
  const reply = await api.app.inject('/health/ready');
  const body = reply.json();
  const checks: { name: string; status: string }[] = body.checks ?? body.context?.checks ?? [];
  return { status: reply.statusCode, body, checks: Object.fromEntries(checks.map((check) => [check.name, check.status])) };
}

test('a process that can serve says so part by part', async () => {
  await until(async () => (await ready()).body.status === 'ok');

  expect(await ready()).toMatchObject({
    status: 200,
    body: { draining: false },
    checks: { postgres: 'ok', redis: 'ok', temporal: 'ok', migrations: 'ok' },
  });
  expect((await api.app.inject('/health/startup')).statusCode).toBe(200);
});

test.each(['redis', 'temporal'] as const)('without %s it is degraded and serves on', async (part) => {
  ways[part].cut();
  await until(async () => (await ready()).checks[part] === 'failed');

  expect(await ready()).toMatchObject({ status: 200, body: { status: 'degraded' } });
  const { tokens } = await makeTenant(database.db, api.keys);
  expect((await api.app.inject({ url: '/agents', headers: bearer(tokens.viewer) })).statusCode).toBe(200);

  ways[part].mend();
  await until(async () => (await ready()).body.status === 'ok');
});

test('without PostgreSQL it is unavailable, but lives, and its documents are still read', async () => {
  const { tokens } = await makeTenant(database.db, api.keys);
  ways.postgres.cut();
  await until(async () => (await ready()).status === 503);

  expect(await ready()).toMatchObject({
    status: 503,
    body: { code: 'service_unavailable' },
    checks: { postgres: 'failed', migrations: 'skipped' },
  });
  for (const url of ['/health/live', '/health/startup', '/error-codes', '/stream-protocol', '/deprecations', '/openapi.json', '/llms.txt'])
    expect([url, (await api.app.inject(url)).statusCode]).toEqual([url, 200]);
  const refused = await api.app.inject({ url: '/agents', headers: bearer(tokens.viewer) });
  expect([refused.statusCode, refused.json().code, refused.json().retryable]).toEqual([503, 'service_unavailable', true]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);

  ways.postgres.mend();
  await until(async () => (await ready()).status === 200);
});

test('while draining readiness is refused, life is not, and connections are not kept', async () => {
  api.drain();
  const live = await fetch(`${api.url}/health/live`);

  expect(await ready()).toMatchObject({ status: 503, body: { context: { draining: true } } });
  expect([live.status, live.headers.get('connection'), (await live.json()) as unknown]).toEqual([
    200,
    'close',
    { status: 'ok', draining: true, checks: [] },
  ]);
  expect((await api.app.inject('/health/startup')).statusCode).toBe(200);
});

test('a process that is ahead of its database has not started', async () => {
  const behind = await startApi();
  const admin = new pg.Client({ connectionString: behind.database.adminUrl });
  await admin.connect();
  await admin.query('delete from schema_migrations');
  await admin.end();

  const [startup, readiness, live] = await Promise.all(
    ['/health/startup', '/health/ready', '/health/live'].map((url) => behind.app.inject(url)),
  );

  expect([startup?.statusCode, readiness?.statusCode, live?.statusCode]).toEqual([503, 503, 200]);
  expect(readiness?.json().context.checks).toContainEqual({ name: 'migrations', status: 'failed', latency_ms: null });
  await behind.close();
});

async function proxyTo(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url);
  return startTcpProxy({ host: hostname, port: Number(port) });
}

function through(proxy: TcpProxy, url: string): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(proxy.port);
  return changed.href;
}

/** An API whose role is its own, so that its password can be changed under it. */
async function withOwnRole(
  work: (place: {
    readonly locked: TestApi;
    readonly setPassword: (password: string) => Promise<void>;
    readonly readyOf: () => Promise<number>;
    readonly role: string;
  }) => Promise<void>,
): Promise<void> {
  const role = `lost_${randomBytes(6).toString('hex')}`;
  const url = Object.assign(new URL(database.appUrl), { username: role, password: 'before' }).href;
  await withAdmin(database.adminUrl, (admin) => admin.query(`create role ${role} login password 'before' in role longhaul_app`));
  const locked = await startApi({ database, keys: api.keys, hasOwnPools: true, env: { DATABASE_APP_URL: url } });
  try {
    await work({
      locked,
      role,
      setPassword: (password) =>
        withAdmin(database.adminUrl, async (admin) => void (await admin.query(`alter role ${role} password '${password}'`))),
      readyOf: async () => (await locked.app.inject('/health/ready')).statusCode,
    });
  } finally {
    await locked.close();
    await withAdmin(database.adminUrl, (admin) => admin.query(`drop role ${role}`));
  }
}

test('when the database lets its role in no more, requests are 503 and the process is not ready; it goes on by itself', async () => {
  await withOwnRole(async ({ locked, role, setPassword, readyOf }) => {
    await until(async () => (await readyOf()) === 200);
    await setPassword('after');
    await withAdmin(database.adminUrl, (admin) =>
      admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]),
    );
    const { tokens } = await makeTenant(database.db, locked.keys);
    const reply = await locked.app.inject({ url: '/agents', headers: bearer(tokens.viewer) });

    expect({ status: reply.statusCode, code: reply.json().code }).toEqual({ status: 503, code: 'service_unavailable' });
    await until(async () => (await readyOf()) === 503);
    await setPassword('before');
    await until(async () => (await readyOf()) === 200);
  });
});

test('connections that are still open do not hide it', async () => {
  await withOwnRole(async ({ setPassword, readyOf }) => {
    await until(async () => (await readyOf()) === 200);
    await setPassword('after');

    await until(async () => (await readyOf()) === 503);
  });
});
