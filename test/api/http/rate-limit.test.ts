import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { limitAddressOf, trustedProxies } from '../../../api/http/credentials/client-address.ts';
import { createLimits } from '../../../api/http/operation/rate-limit.ts';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { connectRedis } from '../../../db/streams/redis.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { testServices } from '../../support/services.ts';
import { startSlowProxy } from '../../support/slow-proxy.ts';
import { bearer, makeTenant } from '../../support/tenant.ts';
import { until } from '../../support/temporal.ts';

const policies = 'RateLimit-Policy';
let api: TestApi;
let trusting: TestApi;
beforeAll(async () => {
  const limits = { RATE_LIMITS: 'principal=5/60,workspace=8/60,anonymous=20/60' };
  [api, trusting] = await Promise.all([startApi({ env: limits }), startApi({ env: { ...limits, TRUSTED_PROXIES: '127.0.0.0/8' } })]);
});
afterAll(async () => {
  await api.close();
  await trusting.close();
});

const ask = (token: string) => api.app.inject({ url: '/version', headers: bearer(token) });

test('a counted reply tells quota and rest of each policy', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);

  const { headers } = await ask(tokens.viewer);

  expect(headers['ratelimit-policy']).toBe('"principal";q=5;w=60, "workspace";q=8;w=60');
  expect(headers['ratelimit']).toMatch(/^"principal";r=4;t=(60|59), "workspace";r=7;t=(60|59)$/);
});

test('a caller over its quota is 429 with the policy and the time to wait, and another goes on', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  for (let spent = 0; spent < 5; spent += 1) await ask(tokens.viewer);

  const over = await ask(tokens.viewer);

  expect(over.statusCode).toBe(429);
  expect(over.json()).toMatchObject({ code: 'rate_limited', retryable: true, context: { violated_policies: ['principal'] } });
  expect(Number(over.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await ask(tokens.member)).statusCode).toBe(200);
});

test('a start above the limit is 429 whatever else is wrong with it, and leaves nothing, though the limits are asked while it is at work', async () => {
  const { tokens, organizationId } = await makeTenant(api.db, api.keys);
  const payload = { slug: 'guide', name: 'Agent', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true };
  const made = await api.app.inject({ method: 'POST', url: '/agents', headers: bearer(tokens.admin), payload });
  expect(made.statusCode).toBe(201);
  const start = async (token: string, body: object, headers: Record<string, string> = {}) => {
    const reply = await api.app.inject({ method: 'POST', url: '/runs', headers: { ...bearer(token), ...headers }, payload: body });
    expect(reply.headers['ratelimit']).toMatch(/"principal";r=[0-4];/);
    return reply.statusCode;
  };
  const good = { agent_slug: 'guide', input: { text: 'Hi' } };
  // Whoever is refused for something else has been counted too.
  for (let spent = 0; spent < 3; spent += 1) expect(await start(tokens.viewer, good)).toBe(403);
  expect(await start(tokens.viewer, {})).toBe(403);
  expect(await start(tokens.viewer, good)).toBe(403);
  expect(await start(tokens.viewer, good)).toBe(429);

  for (let spent = 0; spent < 2; spent += 1) expect(await start(tokens.member, good)).toBe(202);
  expect(await start(tokens.member, { ...good, agent_slug: 'nobody' })).toBe(429);
  for (const body of [good, {}, { ...good, agent_slug: 'nobody' }]) expect(await start(tokens.member, body)).toBe(429);
  expect(await start(tokens.member, good, { 'idempotency-key': crypto.randomUUID() })).toBe(429);

  const [{ runs, keys } = { runs: -1, keys: -1 }] = await sweep(api.db, (em) =>
    rows<{ runs: number; keys: number }>(
      em,
      `select (select count(*)::int from runs where organization_id = ?) as runs,
              (select count(*)::int from idempotency_keys where organization_id = ?) as keys`,
      [organizationId, organizationId],
    ),
  );
  expect({ runs, keys }).toEqual({ runs: 2, keys: 0 });
});

test('a start above its limits reads, locks and writes nothing, also where they answer late', async () => {
  const statements: string[] = [];
  const redisUrl = new URL(testServices().redisUrl);
  const proxy = await startSlowProxy(Number(redisUrl.port));
  redisUrl.port = String(proxy.port);
  const slow = await startApi({
    env: { REDIS_URL: redisUrl.href, RATE_LIMITS: 'principal=1/60' },
    onQuery: (sql) => statements.push(sql),
  });
  try {
    const { tokens } = await makeTenant(slow.db, slow.keys);
    const agent = { slug: 'guide', name: 'Agent', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true };
    expect((await slow.app.inject({ method: 'POST', url: '/agents', headers: bearer(tokens.admin), payload: agent })).statusCode).toBe(201);
    const payload = { agent_slug: 'guide', input: { text: 'Hi' }, session_key: 'one' };
    const start = () => slow.app.inject({ method: 'POST', url: '/runs', headers: bearer(tokens.member), payload });
    proxy.delayMs = 100;
    expect((await start()).statusCode).toBe(202);
    statements.length = 0;

    expect((await start()).statusCode).toBe(429);

    expect(statements.filter((sql) => /\b(from "?personas|insert|for (no key )?update|append_frames)\b/.test(sql))).toEqual([]);
  } finally {
    await slow.close();
    await proxy.close();
  }
});

test('callers of one workspace share its quota', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  for (let spent = 0; spent < 4; spent += 1) await Promise.all([ask(tokens.viewer), ask(tokens.member)]);

  expect((await ask(tokens.admin)).json()).toMatchObject({ context: { violated_policies: ['workspace'] } });
});

test('what is refused by one quota fills no other: a noisy caller leaves the workspace its own', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  for (let spent = 0; spent < 12; spent += 1) await ask(tokens.viewer);

  const { statusCode, headers } = await ask(tokens.member);

  expect(statusCode).toBe(200);
  expect(headers['ratelimit']).toContain('"workspace";r=2;');
});

test('a refused request has had no effect', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  for (let spent = 0; spent < 5; spent += 1) await ask(tokens.member);

  const refused = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tokens.member),
    payload: { slug: 'never', name: 'Never' },
  });

  expect(refused.statusCode).toBe(429);
  expect((await api.app.inject({ url: '/agents', headers: bearer(tokens.admin) })).json().items).toEqual([]);
});

test('forged X-Forwarded-For values widen nothing; behind a trusted peer clients count apart', async () => {
  const statusesOf = async (target: TestApi) => {
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) => fetch(`${target.url}/error-codes`, { headers: { 'x-forwarded-for': `10.1.${index}.7` } })),
    );
    return replies.map((reply) => reply.status);
  };

  expect((await statusesOf(api)).filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
  expect((await statusesOf(trusting)).every((status) => status === 200)).toBe(true);
});

test('probes are never counted', async () => {
  const replies = await Promise.all(Array.from({ length: 30 }, () => api.app.inject({ url: '/health/live', remoteAddress: '10.9.9.9' })));

  expect(replies.every((reply) => reply.statusCode === 200 && reply.headers[policies.toLowerCase()] === undefined)).toBe(true);
});

test('the address is the rightmost hop that is no trusted proxy', () => {
  const proxies = trustedProxies(['10.0.0.0/8', '::1']);
  const addressOf = (peer: string, forwarded?: string) =>
    proxies.addressOf({
      socket: { remoteAddress: peer },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    } as never);

  expect(addressOf('203.0.113.9', '1.1.1.1')).toBe('203.0.113.9');
  expect(addressOf('10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.2')).toBe('203.0.113.9');
  expect(addressOf('10.0.0.1', '1.1.1.1, garbage, 10.0.0.2')).toBe('10.0.0.2');
  expect(addressOf('::ffff:10.0.0.1', '[2001:db8::5]:1234')).toBe('2001:db8::5');
  expect(addressOf('::1', '10.0.0.3')).toBe('10.0.0.3');
});

test('an IPv6 client counts by its /64', () => {
  expect(limitAddressOf('2001:db8:1:2:3:4:5:6')).toBe(limitAddressOf('2001:db8:1:2::9'));
  expect(limitAddressOf('2001:db8:1:3::9')).not.toBe(limitAddressOf('2001:db8:1:2::9'));
  expect(limitAddressOf('203.0.113.9')).toBe('203.0.113.9');
});

/** On a busy machine Redis is not away: what the process counts for itself meanwhile would be counted twice. */
const redisTimeoutMs = 20_000;

test('limits hold in the memory of the process while Redis is away, and after a flush they count anew', async () => {
  const prefix = `test-limit-${crypto.randomUUID()}:`;
  const redis = connectRedis(testServices().redisUrl, 'commands');
  const gone = connectRedis('redis://127.0.0.1:1', 'commands');
  const [limits, alone] = [
    createLimits({ redis, prefix, redisTimeoutMs, quotas: { refresh: { quota: 3, windowS: 60 } } }),
    createLimits({ redis: gone, prefix, quotas: { refresh: { quota: 3, windowS: 60 } } }),
  ];
  const spend = (target: typeof limits) => target.consume([{ policy: 'refresh', key: 'a' }]);
  await until(async () => (await spend(limits).then(() => redis.exists(`${prefix}rl:refresh:a`))) === 1);

  for (let spent = 0; spent < 3; spent += 1) await spend(alone);
  await expect(spend(alone)).rejects.toMatchObject({ code: 'rate_limited' });
  await redis.del(`${prefix}rl:refresh:a`);
  for (let spent = 0; spent < 3; spent += 1) await spend(limits);
  await expect(spend(limits)).rejects.toMatchObject({ code: 'rate_limited' });

  await Promise.all([limits.close(), alone.close()]);
  redis.disconnect();
  gone.disconnect();
});

test('a blocked address locks no account out, and a hit that decided nothing is given back', async () => {
  const redis = connectRedis(testServices().redisUrl, 'commands');
  const prefix = `test-limit-${crypto.randomUUID()}:`;
  const limits = createLimits({
    redis,
    prefix,
    redisTimeoutMs,
    quotas: { login_account: { quota: 4, windowS: 60 }, login_ip: { quota: 2, windowS: 60 } },
  });
  const from = (address: string) => [{ policy: 'login_account', key: 'a' } as const, { policy: 'login_ip', key: address } as const];
  await until(async () => (await limits.consume([{ policy: 'mfa', key: 'warm' }]).then(() => redis.exists(`${prefix}rl:mfa:warm`))) === 1);

  for (let spent = 0; spent < 2; spent += 1) await limits.consume(from('1'));
  for (let refused = 0; refused < 9; refused += 1) {
    await expect(limits.consume(from('1'))).rejects.toMatchObject({ context: { violated_policies: ['login_ip'] } });
  }
  for (let undone = 0; undone < 9; undone += 1) await limits.consume(from('2')).then(() => limits.refund(from('2')));
  const left = await limits.consume(from('2'));

  expect(left['ratelimit']).toMatch(/^"login_account";r=1;t=\d+, "login_ip";r=1;t=\d+$/);
  await limits.close();
  redis.disconnect();
});

test('five failed sign-ins block the pair, each block twice as long; a success clears it', async () => {
  const redis = connectRedis(testServices().redisUrl, 'commands');
  const prefix = `test-limit-${crypto.randomUUID()}:`;
  const limits = createLimits({ redis, prefix, redisTimeoutMs });
  const hits = [{ policy: 'login_pair', key: 'a' }] as const;
  const blockedFor = async () =>
    limits.consume(hits).then(
      () => null,
      (failure: { retryAfterS: number }) => failure.retryAfterS,
    );
  await until(async () => (await limits.consume([{ policy: 'mfa', key: 'warm' }]).then(() => redis.exists(`${prefix}rl:mfa:warm`))) === 1);

  const waits: (number | null)[] = [];
  for (let block = 0; block < 6; block += 1) {
    for (let failures = 0; failures < 5; failures += 1) await limits.consume(hits);
    waits.push(await blockedFor());
    expect(await blockedFor()).toBeGreaterThan(0);
    await redis.del(`${prefix}rl:login_pair:a`);
  }
  await limits.reward(hits);

  expect(waits).toEqual([60, 120, 240, 480, 900, 900]);
  expect(await blockedFor()).toBeNull();
  await limits.close();
  redis.disconnect();
});
