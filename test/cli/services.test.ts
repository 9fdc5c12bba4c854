import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { Redis } from 'ioredis';
import pg from 'pg';
import { identityOf } from '../../cli/services/child.ts';
import { findRunningServices, type Services, startServices } from '../../cli/services/index.ts';
import { StateBusyError } from '../../cli/state.ts';
import { until } from '../support/temporal.ts';

const root = join(import.meta.dirname, '../..');
const wheelsDir = join(root, '.longhaul/wheels');
const env = { ...process.env, DATABASE_URL: '', REDIS_URL: '', TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: '' };

let folder: string;
let stateDir: string;
let services: Services;
const started: Services[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-services-'));
  // Every sign that means something in a shell, a URI or a configuration file.
  stateDir = join(folder, `a "state" of ?#%20$HOME & 'others'`);
  services = await start(stateDir);
});

afterAll(async () => {
  for (const one of started) await one.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('whatever signs its path has, the state folder holds all that is stored', () => {
  expect(readdirSync(folder)).toEqual([basename(stateDir)]);
  for (const file of ['postgres/PG_VERSION', 'redis/appendonlydir', 'temporal/temporal.db'])
    expect(existsSync(join(stateDir, file))).toBe(true);
});

test('what the services hold survives kill -9 of each, on the same addresses', async () => {
  // The services of tests write behind; what has been told as committed is asked for here.
  await query(services, "set synchronous_commit = on; create table kept as select 'still here' as text");
  await withRedis(services, (redis) => redis.set('kept', 'still here'));
  await withTemporal(services, (client) => client.workflow.start('none', { workflowId: 'kept', taskQueue: 'none' }));
  const before = services.children;

  for (const { name, pid } of before) {
    process.kill(pid, 'SIGKILL');
    await until(() => identityOf(pid) === null);
    await services.restart(name as 'postgres' | 'redis' | 'temporal'); // no other is started here
  }

  expect(await query(services, 'select text from kept')).toEqual([{ text: 'still here' }]);
  expect(await withRedis(services, (redis) => redis.get('kept'))).toBe('still here');
  expect((await withTemporal(services, (client) => client.workflow.getHandle('kept').describe())).status.name).toBe('RUNNING');
  expect(services.children.map(({ name }) => name).toSorted()).toEqual(['postgres', 'redis', 'temporal']);
  expect(services.children.map(({ pid }) => pid)).not.toEqual(expect.arrayContaining(before.map(({ pid }) => pid)));
});

test('PostgreSQL brings UTF-8, machine-independent sorting and the extensions', async () => {
  const [settings] = await query(
    services,
    `select current_setting('server_encoding') as encoding, datlocprovider as provider, datlocale as locale, current_setting('max_connections') as connections
       from pg_database where datname = current_database()`,
  );
  await query(services, 'create extension vector; create extension pg_trgm; create extension unaccent');

  expect(settings).toEqual({
    encoding: 'UTF8',
    provider: 'b',
    locale: 'C.UTF-8',
    connections: '300',
  });
  expect(await query(services, "select 'ÄÖ' ~ '^\\w+$' as is_word, lower('Ä') as lower, similarity('Käse', 'Käse') as same")).toEqual([
    { is_word: true, lower: 'ä', same: 1 },
  ]);
});

test('no service answers without its password', async () => {
  const database = new URL(services.databaseUrl);
  database.password = 'wrong';
  const redis = new Redis({
    host: '127.0.0.1',
    port: Number(new URL(services.redisUrl).port),
    lazyConnect: true,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});

  await expect(query({ databaseUrl: database.href }, 'select 1')).rejects.toThrow('password');
  await expect(redis.ping()).rejects.toThrow('NOAUTH');
  redis.disconnect();
});

test('Temporal has the search attributes, and takes workspaces in turn within a priority', async () => {
  const order = await withTemporal(services, async (client) => {
    const taskQueue = 'turns';
    const started = [...Array(10).fill(['a', 3]), ...Array(2).fill(['b', 3]), ['a', 1]] as [string, number][]; // literal above
    for (const [index, [fairnessKey, priorityKey]] of started.entries()) {
      await client.workflow.start('none', {
        workflowId: `${fairnessKey}${priorityKey}-${index}`,
        taskQueue,
        priority: { fairnessKey, priorityKey },
      });
    }
    const polled: string[] = [];
    for (const _ of started) polled.push(await pollOne(client, taskQueue));
    return polled.map((workflowId) => workflowId.slice(0, 2));
  });

  // In the order of their starts they would be the last three; a few tasks may be on their way when the last one starts.
  expect(order.slice(0, 4)).toContain('a1');
  expect(order.slice(0, 8).filter((place) => place === 'b3')).toHaveLength(2);
  const attributes = await fetch(
    `http://${services.temporalHttpAddress}/api/v1/namespaces/${services.temporalNamespace}/search-attributes`,
  );
  expect(await attributes.json()).toMatchObject({
    customAttributes: {
      OrganizationId: 'INDEXED_VALUE_TYPE_KEYWORD',
      SourceId: 'INDEXED_VALUE_TYPE_KEYWORD',
    },
  });
});

test('a second start on the same state folder is refused and may ask for the addresses', async () => {
  await expect(start(stateDir)).rejects.toThrow(StateBusyError);
  await expect(start(stateDir)).rejects.toThrow(`process ${process.pid}`);

  expect(findRunningServices(stateDir)).toMatchObject({
    databaseUrl: services.databaseUrl,
    redisUrl: services.redisUrl,
    temporalAddress: services.temporalAddress,
  });
  expect(findRunningServices(join(folder, 'other'))).toBeNull();
});

test('the state folder is closed to others, its files too', () => {
  expect(statSync(stateDir).mode & 0o777).toBe(0o700);
  for (const file of ['secrets.json', 'services.json', 'processes.json', 'ports.json', 'lock'])
    expect(statSync(join(stateDir, file)).mode & 0o077).toBe(0);
});

test('stop ends what was started, and the next start finds data and addresses again', async () => {
  const { children, databaseUrl, redisUrl, temporalAddress } = services;

  await services.stop();

  expect(children.map(({ pid }) => identityOf(pid))).toEqual([null, null, null]);
  expect(JSON.parse(readFileSync(join(stateDir, 'processes.json'), 'utf8'))).toEqual([]);
  services = await start(stateDir);
  expect(services).toMatchObject({ databaseUrl, redisUrl, temporalAddress });
  expect(await query(services, 'select text from kept')).toEqual([{ text: 'still here' }]);
  // A Temporal of tests that is started anew works for no former one.
  await expect(withTemporal(services, (client) => client.workflow.getHandle('kept').describe())).rejects.toThrow('not found');
});

test('a launcher killed with -9 takes its children along, and the next start gets in', async () => {
  const otherState = join(folder, 'killed');
  const program = `import { startServices } from '${root}/cli/services/index.ts';
    await startServices({ stateDir: '${otherState}', wheelsDir: '${wheelsDir}', env: process.env, log() {}, isEphemeral: true });
    console.log('up');`;
  const launcher = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(launcher.stdout, 'data');
  const left = JSON.parse(readFileSync(join(otherState, 'processes.json'), 'utf8')) as {
    pid: number;
  }[]; // written by the launcher
  await expect(start(otherState)).rejects.toThrow(`process ${launcher.pid}`);

  launcher.kill('SIGKILL');
  await once(launcher, 'exit');
  const next = await start(otherState);

  expect(left).toHaveLength(3);
  expect(left.map(({ pid }) => identityOf(pid))).toEqual([null, null, null]);
  await next.stop();
});

test('services given by URL are used as they are and never stopped', async () => {
  const given = {
    DATABASE_URL: 'postgres://me@db.example/x',
    REDIS_URL: 'redis://r.example',
    TEMPORAL_ADDRESS: 't.example:7233',
    TEMPORAL_NAMESPACE: 'ours',
  };

  const found = await startServices({
    stateDir: join(folder, 'given'),
    wheelsDir: join(folder, 'no-wheels'),
    env: given,
    log: () => {},
  });
  await found.stop();

  expect(found).toMatchObject({
    databaseUrl: given.DATABASE_URL,
    redisUrl: given.REDIS_URL,
    temporalAddress: given.TEMPORAL_ADDRESS,
    temporalHttpAddress: null,
    temporalNamespace: 'ours',
    children: [],
  });
  expect(existsSync(join(folder, 'no-wheels'))).toBe(false);
});

test('without Python the message names the three URLs to set', async () => {
  const options = {
    stateDir: join(folder, 'bare'),
    wheelsDir: join(folder, 'no-wheels'),
    env: { PATH: folder },
    log: () => {},
  };

  await expect(startServices(options)).rejects.toThrow(/No Python 3 with pip[^]*DATABASE_URL=[^]*REDIS_URL=[^]*TEMPORAL_ADDRESS=/);
});

test('a port that is set but taken is named, and nothing is left running', async () => {
  const taken = { ...env, LONGHAUL_REDIS_PORT: new URL(services.redisUrl).port };
  const options = { stateDir: join(folder, 'taken'), wheelsDir, env: taken, log: () => {} };

  await expect(startServices(options)).rejects.toThrow(`The port ${taken.LONGHAUL_REDIS_PORT} configured for redis is in use.`);
  expect(findRunningServices(options.stateDir)).toBeNull();
});

async function start(folderOfState: string): Promise<Services> {
  const one = await startServices({ stateDir: folderOfState, wheelsDir, env, log: () => {}, isEphemeral: true });
  started.push(one);
  return one;
}

async function query({ databaseUrl }: { databaseUrl: string }, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function withRedis<T>({ redisUrl }: Services, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(redisUrl);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function withTemporal<T>({ temporalAddress, temporalNamespace }: Services, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: temporalAddress });
  try {
    return await work(new Client({ connection, namespace: temporalNamespace }));
  } finally {
    await connection.close();
  }
}

async function pollOne(client: Client, taskQueue: string): Promise<string> {
  const connection = client.connection as Connection; // of withTemporal
  const poll = () =>
    client.workflowService.pollWorkflowTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueue },
      identity: 'test',
    });
  const { workflowExecution } = await connection.withDeadline(Date.now() + 60_000, poll);
  return workflowExecution?.workflowId ?? '';
}
