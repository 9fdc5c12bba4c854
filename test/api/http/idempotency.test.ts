import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { areas } from '../../../api/operations.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea, type ProbeState } from '../../support/probes.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/temporal.ts';

const logged: string[] = [];
const statements: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
let state: ProbeState;
let first: TestApi;
let second: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  state = newProbeState();
  const both = [...areas, probeArea(state)];
  first = await startApi({ areas: both, log, onQuery: (sql) => statements.push(sql) });
  second = await startApi({ areas: both, keys: first.keys, database: first.database, redisPrefix: first.redisPrefix });
  tenant = await makeTenant(first.db, first.keys);
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const send = async (path: string, key: string | null, body: unknown = {}, api = first) => {
  const reply = await fetch(api.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...bearer(tenant.tokens.admin), 'content-type': 'application/json', ...(key === null ? {} : { 'idempotency-key': key }) },
  });
  const text = await reply.text();
  return {
    status: reply.status,
    text,
    code: (JSON.parse(text) as { code?: string }).code,
    headers: reply.headers,
    isReplay: reply.headers.get('idempotency-replayed') === 'true',
  };
};
const agent = (slug: string) => ({ slug, name: 'Agent' });

test('50 parallel POSTs with one key over two processes make one row; all others are told to wait or get the replay', async () => {
  const key = crypto.randomUUID();

  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => send('/agents', key, agent('once'), index % 2 ? first : second)),
  );

  expect(answers.filter((answer) => answer.status === 201 && !answer.isReplay)).toHaveLength(1);
  for (const answer of answers) if (answer.status !== 201) expect([answer.status, answer.code]).toEqual([409, 'idempotency_in_progress']);
  const made = await sweep(first.db, (em) =>
    rows(em, `select id from agents where organization_id = ? and slug = 'once'`, [tenant.organizationId]),
  );
  expect(made).toHaveLength(1);
});

test('a replay is the same bytes with the same status, Location and type, under a new correlation id', async () => {
  const key = crypto.randomUUID();
  const original = await send('/agents', key, agent('replayed'));
  const audited = await auditCount();

  const replay = await send('/agents', key, agent('replayed'), second);

  expect([replay.status, replay.text, replay.isReplay]).toEqual([201, original.text, true]);
  for (const name of ['location', 'content-type', 'etag']) expect(replay.headers.get(name)).toBe(original.headers.get(name));
  expect(replay.headers.get('x-correlation-id')).not.toBe(original.headers.get('x-correlation-id'));
  expect(await auditCount()).toBe(audited);
});

test('a replay costs one query beyond authentication and no transaction; a first use two queries more than none', async () => {
  const key = crypto.randomUUID();
  const costOf = async (header: string | null) => {
    statements.length = 0;
    await send('/probes/others', header, { note: 'counted' });
    // Each transaction begins with its settings.
    const transactions = statements.filter((sql) => sql.includes('set_config')).length;
    return { transactions, queries: statements.filter((sql) => !sql.includes('set_config') && !/^(?:begin|commit)/i.test(sql)).length };
  };

  const without = await costOf(null);
  const firstUse = await costOf(key);
  const replay = await costOf(key);

  expect(firstUse).toEqual({ transactions: without.transactions, queries: without.queries + 2 });
  expect(replay).toEqual({ transactions: without.transactions - 1, queries: without.queries + 1 });
});

test('one key on two routes runs both; another body, path or query under it is a mismatch', async () => {
  const key = crypto.randomUUID();
  const before = state.calls;

  expect((await send('/probes/faults', key, { note: 'a' })).status).toBe(200);
  expect((await send('/probes/others', key, { note: 'a' })).status).toBe(200);
  expect(state.calls).toBe(before + 2);
  expect((await send('/probes/others', key, { note: 'b' })).code).toBe('idempotency_key_mismatch');
  expect((await send('/probes/others?size=1', key, { note: 'a' })).code).toBe('idempotency_key_mismatch');
  expect((await send('/probes/others', `"${key}"`, { note: 'a' })).isReplay).toBe(true);
});

test('keys of two callers never meet', async () => {
  const key = crypto.randomUUID();
  await send('/probes/others', key, { note: 'a' });
  const other = await first.app.inject({
    method: 'POST',
    url: '/probes/others',
    headers: { ...bearer(tenant.tokens.member), 'idempotency-key': key },
    payload: { note: 'b' },
  });

  expect(other.statusCode).toBe(200);
});

test.each(['', 'a b', 'x'.repeat(256), '"open', 'ä'])('the key %j is 422', async (key) => {
  const reply = await first.app.inject({
    method: 'POST',
    url: '/probes/others',
    headers: { ...bearer(tenant.tokens.admin), 'idempotency-key': key },
    payload: {},
  });

  expect(reply.json()).toMatchObject({ code: 'validation_failed', errors: [{ in: 'header', name: 'idempotency-key' }] });
});

test.each([
  ['state_conflict', 409, true],
  ['not_found', 404, true],
  ['budget_exceeded', 402, true],
  ['gone', 410, true],
  ['resource_frozen', 423, true],
  ['rate_limited', 429, false],
  ['role_insufficient', 403, false],
  ['validation_failed', 422, false],
  ['upstream_failed', 502, false],
  ['internal_error', 500, false],
] as const)('a refusal %s (%i) is stored: %s', async (code, status, isStored) => {
  const key = crypto.randomUUID();
  state.faults = [fail(code)];

  const original = await send('/probes/faults', key);
  const repeat = await send('/probes/faults', key);

  expect(original.status).toBe(status);
  expect([repeat.status, repeat.isReplay]).toEqual(isStored ? [status, true] : [200, false]);
  if (isStored) expect(repeat.text).toBe(original.text);
});

test('a secret is stored as an envelope: its plaintext is in no table, Redis value or log, and the replay gives the same bytes', async () => {
  const key = crypto.randomUUID();
  const original = await send('/service-keys', key, { name: 'backend' });
  const { plaintext } = JSON.parse(original.text) as { plaintext: string };

  const replay = await send('/service-keys', key, { name: 'backend' }, second);

  expect([replay.status, replay.text, replay.isReplay]).toEqual([201, original.text, true]);
  expect(await findInDatabase(plaintext)).toEqual([]);
  expect(await findInRedis(plaintext)).toEqual([]);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes(plaintext))).toEqual([]);
});

test('a stored secret opens on its own row only', async () => {
  const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
  await send('/probes/secrets', one);
  await send('/probes/secrets', two);
  await sweep(first.db, (em) =>
    rows(em, 'update idempotency_keys set body = (select body from idempotency_keys where key = ?) where key = ?', [one, two]),
  );

  expect((await send('/probes/secrets', two)).status).toBe(500);
});

test('while a reply is waited for a repeat is told to wait; afterwards it gets the final one', async () => {
  const key = crypto.randomUUID();
  const gate = Promise.withResolvers<void>();
  state.onWait = () => gate.promise;
  const original = send('/probes/waits', key);
  await until(async () => (await storedStatus(key)) === 202);

  expect((await send('/probes/waits', key)).code).toBe('idempotency_in_progress');
  gate.resolve();
  const { status, text } = await original;

  expect(status).toBe(200);
  expect(await send('/probes/waits', key)).toMatchObject({ status: 200, text, isReplay: true });
});

test('when the waiting process has died a repeat gets the 202 that its transaction stored, and nothing runs twice', async () => {
  const key = crypto.randomUUID();
  const gate = Promise.withResolvers<void>();
  state.onWait = () => gate.promise;
  const original = send('/probes/waits', key);
  await until(async () => (await storedStatus(key)) === 202);
  const before = state.calls;
  await expireLease(key);

  expect(await send('/probes/waits', key)).toMatchObject({ status: 202, isReplay: true });
  expect(state.calls).toBe(before);
  gate.resolve();
  await original;
});

test('a commit whose answer was lost stands: the repeat gets the stored 202, and nothing runs twice', async () => {
  const key = crypto.randomUUID();
  state.inTransaction = ({ em }) => {
    const commit = em.commit.bind(em);
    em.commit = async () => {
      await commit();
      throw new Error('Connection terminated unexpectedly');
    };
  };
  const original = await send('/probes/waits', key);
  state.inTransaction = () => undefined;
  const before = state.calls;

  const repeat = await send('/probes/waits', key);

  expect(original.code).toBe('service_unavailable');
  expect(repeat).toMatchObject({ status: 202, isReplay: true });
  expect(state.calls).toBe(before);
});

test('a key whose request failed with the database is free soon after that is back, long before its lease is over', async () => {
  const { hostname, port } = new URL(first.database.appUrl);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const appUrl = Object.assign(new URL(first.database.appUrl), { port: String(proxy.port) }).href;
  const third = await startApi({
    areas: [...areas, probeArea(state)],
    keys: first.keys,
    database: first.database,
    redisPrefix: first.redisPrefix,
    hasOwnPools: true,
    env: { DATABASE_APP_URL: appUrl },
  });
  const key = crypto.randomUUID();
  state.inTransaction = () => proxy.cut();
  const failed = await send('/probes/waits', key, {}, third);
  state.inTransaction = () => undefined;
  const tooEarly = await send('/probes/waits', key);
  proxy.mend();

  await until(async () => (await send('/probes/waits', key)).status !== 409);
  const repeat = await send('/probes/waits', key);
  await third.close();
  await proxy.close();

  expect([failed.code, tooEarly.code]).toEqual(['service_unavailable', 'idempotency_in_progress']);
  expect(repeat).toMatchObject({ status: 200, isReplay: true });
});

test('a lease that is over is taken by the next request, and the late one can store nothing', async () => {
  const key = crypto.randomUUID();
  await send('/probes/others', key, { note: 'a' });
  await sweep(first.db, (em) =>
    rows(
      em,
      `update idempotency_keys set state = 'running', status = null, headers = null, body = null, lease_until = now() - interval '1 s' where key = ?`,
      [key],
    ),
  );
  const before = state.calls;

  const again = await send('/probes/others', key, { note: 'a' });

  expect([again.status, again.isReplay, state.calls]).toEqual([200, false, before + 1]);
});

test('a deadlock runs the handler again, at most twice', async () => {
  const deadlock = () => Object.assign(new Error('deadlock detected'), { code: '40P01' });
  state.faults = [deadlock(), deadlock()];
  expect((await send('/probes/faults', null)).status).toBe(200);

  state.faults = [deadlock(), deadlock(), deadlock()];
  expect((await send('/probes/faults', null)).code).toBe('service_unavailable');
});

test('without a key nothing is stored, and a key on an unmarked operation is ignored', async () => {
  const key = crypto.randomUUID();
  const replies = await Promise.all(
    [1, 2].map(() =>
      first.app.inject({
        method: 'POST',
        url: '/probes',
        headers: { ...bearer(tenant.tokens.admin), 'idempotency-key': key },
        payload: { name: 'a' },
      }),
    ),
  );

  expect(replies.map((reply) => [reply.statusCode, reply.headers['idempotency-replayed']])).toEqual([
    [200, undefined],
    [200, undefined],
  ]);
  expect(await storedStatus(key)).toBeNull();
});

async function auditCount(): Promise<number> {
  const [found] = await sweep(first.db, (em) =>
    rows<{ n: number }>(em, 'select count(*) as n from audit_entries where organization_id = ?', [tenant.organizationId]),
  );
  return found?.n ?? -1;
}

async function storedStatus(key: string): Promise<number | null> {
  const [found] = await sweep(first.db, (em) =>
    rows<{ status: number | null }>(em, 'select status from idempotency_keys where key = ?', [key]),
  );
  return found?.status ?? null;
}

test('a repeat is told to wait for as long as its request has been at it, and never beyond the end of the lease', async () => {
  const key = crypto.randomUUID();
  const gate = Promise.withResolvers<void>();
  state.onWait = () => gate.promise;
  const original = send('/probes/waits', key);
  await until(async () => (await storedStatus(key)) === 202);
  // As if a process had been killed that long ago, so that the rest of the lease is left.
  const waitAfter = async (leftS: number) => {
    await sweep(first.db, (em) =>
      rows(em, 'update idempotency_keys set lease_until = clock_timestamp() + make_interval(secs => ?) where key = ?', [leftS, key]),
    );
    return Number((await send('/probes/waits', key)).headers.get('retry-after'));
  };

  const told = [await waitAfter(90), await waitAfter(70.5), await waitAfter(30.5), await waitAfter(2.5)];
  gate.resolve();
  await original;

  expect(told[0]).toBeLessThanOrEqual(5);
  expect(told[1]).toBeGreaterThanOrEqual(19);
  expect(told[1]).toBeLessThan(45);
  expect(told[2]).toBeLessThanOrEqual(31);
  expect(told[2]).toBeGreaterThan(10);
  expect(told[3]).toBeLessThanOrEqual(3);
});

async function expireLease(key: string): Promise<void> {
  await sweep(first.db, (em) => rows(em, `update idempotency_keys set lease_until = now() - interval '1 s' where key = ?`, [key]));
}

/** Tables whose rows, as text or bytes, hold the words. */
async function findInDatabase(words: string): Promise<string[]> {
  const hex = Buffer.from(words).toString('hex');
  const tables = await sweep(first.db, (em) =>
    rows<{ name: string }>(
      em,
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    ),
  );
  const hits = await Promise.all(
    tables.map(async ({ name }) => {
      const found = await sweep(first.db, (em) =>
        rows(em, `select 1 from "${name}" t where t::text like ? or t::text like ? limit 1`, [`%${words}%`, `%${hex}%`]),
      );
      return found.length > 0 ? [name] : [];
    }),
  );
  return hits.flat();
}

async function findInRedis(words: string): Promise<string[]> {
  const { redis } = first.deps;
  const keys = await redis.keys(`${first.redisPrefix}*`);
  const values = await Promise.all(keys.map(async (key) => ((await redis.type(key)) === 'string' ? await redis.get(key) : '')));
  return keys.filter((key, index) => key.includes(words) || values[index]?.includes(words));
}
