import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { expireHolds } from '../../../db/billing/ledger/upkeep.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { reserve } from '../../../db/billing/budgets/holds.ts';
import { callKey } from '../../../db/billing/ledger/call-key.ts';
import { isFull } from '../../chaos/whole.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { inWorkspace, makeCall, settleCall } from '../../support/calls.ts';
import { startReserving } from '../../support/reserving-process.ts';
import { seeded } from '../../support/seeded.ts';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, text, params));
const put = async (tenant: TestTenant, body: object) => {
  const answer = await world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, { body: { is_enforced: true, ...body } });
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
};
const windowsOf = (tenant: TestTenant) =>
  sql<{ period: string; spent: string; reserved: string }>(
    'select period, trim_scale(spent)::text as spent, trim_scale(reserved)::text as reserved from budget_windows where workspace_id = ? and closed_at is null order by period',
    [tenant.workspaceId],
  );

/** Three processes, each up to where it would begin. */
async function threeProcesses(tenant: TestTenant, task: { readonly estimate: string; readonly atOnce: number; readonly forMs: number }) {
  const { appUrl, sweeperUrl } = world.api.database;
  const place = { organizationId: tenant.organizationId, workspaceId: tenant.workspaceId };
  return Promise.all([1, 2, 3].map(() => startReserving({ appUrl, sweeperUrl, place, ...task })));
}

test('on three processes at once 201 reservations of 0.50 against 10.00 are 20, and no window holds a part of a refused one', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day', limit_amount: '10' });
  await put(tenant, { period: 'month', limit_amount: '1000' });
  const processes = await threeProcesses(tenant, { estimate: '0.50', atOnce: 67, forMs: 0 });

  const found = (await Promise.all(processes.map((one) => one.run()))).flat();

  expect([found.length, found.filter(({ outcome }) => outcome === 'ok').length]).toEqual([201, 20]);
  expect(await windowsOf(tenant)).toEqual([
    { period: 'day', spent: '0', reserved: '10' },
    { period: 'month', spent: '0', reserved: '10' },
  ]);
});

test('a limit that is lowered binds every reservation begun after the reply on three processes, and raised the next one passes', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day', limit_amount: '1000' });
  const processes = await threeProcesses(tenant, { estimate: '0.01', atOnce: 34, forMs: 3_000 });

  const running = Promise.all(processes.map((one) => one.run()));
  await delay(1_000);
  await put(tenant, { period: 'day', limit_amount: '0.02' });
  const repliedAt = Date.now();
  const found = (await running).flat();
  await put(tenant, { period: 'day', limit_amount: '1000' });
  const raised = await makeCall(world.api.db, tenant, { cost: '0.01' });

  const late = found.filter(({ begunAt }) => begunAt > repliedAt);
  expect(found.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(10);
  expect(late.length).toBeGreaterThan(10);
  expect(new Set(late.map(({ outcome }) => outcome))).toEqual(new Set(['busy']));
  expect(raised.outcome).toBe('ok');
});

test('500 other budgets, made before and after it, full or not, change no decision', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const plantOthers = (name: string) =>
    sql(
      `with w as (
         insert into workspaces (id, organization_id, slug, name, timezone, currency)
         select gen_random_uuid(), ?::uuid, ? || n, 'Other', 'UTC', 'USD' from generate_series(1, 250) n returning id, organization_id),
       g as (
         insert into budgets (id, organization_id, workspace_id, period, period_start, limit_amount, currency, is_enforced)
         select gen_random_uuid(), organization_id, id, 'day', '2026-01-01', 0, 'USD', true from w returning id, organization_id, workspace_id),
       b as (
         insert into budget_windows (id, organization_id, workspace_id, budget_id, period, window_start, window_end, currency, limit_amount, spent)
         select gen_random_uuid(), organization_id, workspace_id, id, 'day', now(), now() + interval '1 day', 'USD', 0, row_number() over () % 2 from g)
       select 1`,
      [tenant.organizationId, name],
    );
  await plantOthers('before-');
  await put(tenant, { period: 'day', limit_amount: '1' });

  const calls = [];
  for (let n = 0; n < 4; n += 1) {
    calls.push((await makeCall(world.api.db, tenant, { cost: '0.4' })).outcome);
    // Its own window is open now.
    if (n === 0) await plantOthers('after-');
  }

  expect(calls).toEqual(['ok', 'ok', 'full', 'full']);
});

test('a flush of Redis and a restart change no decision: what is held stays held, what is spent stays spent', async () => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  await put(tenant, { period: 'day', limit_amount: '1' });
  await makeCall(world.api.db, tenant, { cost: '0.6' });
  const runId = newId();
  const hold = () =>
    inWorkspace(world.api.db, tenant, (tx) => reserve(tx, { ...tenant, callKey: callKey('run', runId, 1, 1), caps: [], estimate: '0.4' }));
  await hold();
  const decisions = async ({ app }: TestApi) => {
    const headers = bearer(tenant.tokens.admin);
    const run = { method: 'POST', url: '/runs', headers, payload: { agent_id: agent.id, input: { text: 'Hi.' } } } as const;
    const status = await app.inject({ method: 'GET', url: `/budgets/${tenant.workspaceId}/status?period=day`, headers });
    const { decision, spent, reserved, remaining } = status.json<Record<string, unknown>>();
    const started = await app.inject(run);
    return [started.statusCode, { decision, spent, reserved, remaining }, await makeCall(world.api.db, tenant, { cost: '0.1' })];
  };

  const before = await decisions(world.api);
  const { database, keys, redisPrefix } = world.api;
  const names = await world.api.deps.redis.keys(`${redisPrefix}*`);
  if (names.length > 0) await world.api.deps.redis.del(names);
  const restarted = await startApi({ database, keys, redisPrefix });
  try {
    expect(before).toEqual([429, { decision: 'held', spent: '0.60', reserved: '0.40', remaining: '0.00' }, { outcome: 'busy' }]);
    expect([await decisions(world.api), await decisions(restarted)]).toEqual([before, before]);
    // The call that holds begins anew after the restart: it is the same.
    expect(await hold()).toMatchObject({ outcome: 'ok' });
    await settleCall(world.api.db, tenant, { runId, cost: '0.4' });
    const spent = [402, { decision: 'blocked', spent: '1.00', reserved: '0.00', remaining: '0.00' }, { outcome: 'full', fullAt: 'day' }];
    expect([await decisions(world.api), await decisions(restarted)]).toEqual([spent, spent]);
  } finally {
    await restarted.close();
  }
});

/** The windows of the budgets that stand whose spending is not that of the ledger in them. */
const disagreeing = (tenant: TestTenant) =>
  sql(
    `select w.id, w.spent, l.sum from budget_windows w
       join budgets g on g.id = w.budget_id
       cross join lateral (
         select coalesce(sum(round(e.cost * w.fx_rate, 9)), 0) as sum from usage_entries e
          where e.workspace_id = w.workspace_id and e.reserved_at >= w.window_start and e.reserved_at < w.window_end) l
      where w.workspace_id = ? and w.spent <> l.sum`,
    [tenant.workspaceId],
  );

test.each(isFull ? [1, 2, 3, 4, 5] : [1])(
  'whatever calls and PUTs there are at once, each window has spent what the ledger says, to the last decimal (seed %i)',
  async (seed) => {
    const random = seeded(seed);
    const tenant = await world.tenant();
    const { db } = world.api;
    await sql(
      `insert into fx_rates (id, base, quote, rate, effective_from, source) values (?, 'USD', 'JPY', 151.337, '2026-01-01', 'test') on conflict do nothing`,
      [newId()],
    );
    const cost = () => `${random.between(0, 2)}.${String(random.between(0, 999_999_999)).padStart(9, '0')}`;
    const ago = (days: number) => new Date(Date.now() - random.between(0, days * 86_400_000));
    const dateOf = (at: Date) => at.toISOString().slice(0, 10);
    const write = () =>
      put(tenant, {
        period: random.pick(['day', 'month'] as const),
        limit_amount: random.pick([null, '0', '5', '500'] as const),
        is_enforced: random.next() < 0.5,
        currency: random.pick(['USD', 'USD', 'JPY'] as const),
        period_start: dateOf(ago(60)),
      });
    const acts = {
      reserved: () => makeCall(db, tenant, { cost: cost(), estimate: cost() }),
      // Begun before there was a budget: it holds nothing.
      unheld: () => settleCall(db, tenant, { cost: cost(), reservedAt: ago(45) }),
      twice: () => {
        const call = { runId: newId(), cost: cost(), reservedAt: ago(2) };
        return Promise.all([settleCall(db, tenant, call), settleCall(db, tenant, call)]);
      },
      retried: () => {
        const runId = newId();
        return Promise.all([1, 2].map((attempt) => settleCall(db, tenant, { runId, attempt, cost: cost() })));
      },
      written: write,
      deleted: () =>
        world.call(tenant.tokens.admin, 'DELETE', `/budgets/${tenant.workspaceId}?period=${random.pick(['day', 'month'] as const)}`),
      expired: () => sweep(db, (em) => expireHolds(em, 100)),
    };
    const kinds = ['reserved', 'reserved', 'reserved', 'unheld', 'twice', 'retried', 'written', 'written', 'deleted', 'expired'] as const;

    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let n = 0; n < 15; n += 1) await acts[random.pick(kinds)]();
      }),
    );

    expect(await disagreeing(tenant)).toEqual([]);
    expect((await windowsOf(tenant)).every(({ reserved }) => reserved === '0')).toBe(true);
  },
);

test('one call settled twice, also at once, is one row; two attempts of it are two', async () => {
  const tenant = await world.tenant();
  await put(tenant, { period: 'day', limit_amount: '10' });
  const runId = newId();

  await Promise.all([1, 1, 1, 2].map((attempt) => settleCall(world.api.db, tenant, { runId, attempt, cost: '0.5' })));

  expect(await sql('select id from usage_entries where run_id = ?', [runId])).toHaveLength(2);
  expect(await windowsOf(tenant)).toEqual([{ period: 'day', spent: '1', reserved: '0' }]);
});
