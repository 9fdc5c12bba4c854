import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { reserve } from '../../../db/billing/budgets/holds.ts';
import { newId } from '../../../db/ids.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { withAdmin } from '../../support/template.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { priceCall, testBudgets } from '../../support/budgets.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

const statements: string[] = [];
let world: World;
let strict: World;

const model = { LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:9/v1', LONGHAUL_MODEL_API_KEY: 'k', LONGHAUL_MODEL: 'scripted' };

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql), env: model });
  strict = await openWorld({ env: { ...model, UNPRICED_MODEL: 'reject' } });
  await priceCall(world.api.db, 'compatible/scripted', '0.1');
});

afterAll(async () => {
  await world?.close();
  await strict?.close();
});

const budgetsOf = (tenant: TestTenant, { api } = world) => testBudgets(api.db, tenant);

async function starter(more: object = {}, at = world) {
  const tenant = await at.tenant();
  const agent = await makeAgent(at, tenant.tokens.admin, { revision: { instructions: 'x' } });
  const body = { agent_id: agent.id, input: { text: 'Hi' }, ...more };
  return { tenant, agent, start: (extra: object = {}) => at.call(tenant.tokens.member, 'POST', '/runs', { body: { ...body, ...extra } }) };
}

const admin = (sql: string, params: readonly unknown[] = []) =>
  withAdmin(world.api.database.adminUrl, (client) => client.query(sql, [...params]));

/** As if a call had cost so much. */
const spend = (tenant: TestTenant, column: 'spent' | 'reserved', amount: string) =>
  admin(`update budget_windows set ${column} = $2 where workspace_id = $1`, [tenant.workspaceId, amount]);

test('a spent budget refuses a start with 402, one that calls in flight hold with 429, and nothing is written', async () => {
  const { tenant, start } = await starter();
  await budgetsOf(tenant).day('1');
  const admitted = await start();
  await spend(tenant, 'reserved', '1');
  const held = await start();
  await spend(tenant, 'spent', '1');
  const spent = await start();

  expect(admitted.status).toBe(202);
  expect(held).toMatchObject({ status: 429, body: { code: 'rate_limited', context: { reason: 'budget_reserved' } } });
  expect(held.headers['retry-after']).toBe('5');
  expect(spent).toMatchObject({ status: 402, body: { code: 'budget_exceeded', context: { period: 'day' } } });
  const { body } = await world.call(tenant.tokens.member, 'GET', '/runs');
  expect(body.items).toHaveLength(1);
});

test('a budget of 0 stops every start; one that is not enforced, or none, stops nothing', async () => {
  const { tenant, agent, start } = await starter();
  const budgets = budgetsOf(tenant);
  const retried = await start();
  await admin(`update runs set status = 'failed', finish_reason = 'error', finished_at = now() where id = $1`, [retried.body.id]);
  const item = { agent_id: agent.id, input: { text: 'Hi' } };
  const tool = await world.call(tenant.tokens.admin, 'POST', '/tools', { body: { slug: 'page', kind: 'web_fetch', description: 'x' } });

  await budgets.day('0');
  const alone = await start();
  const batch = await world.call(tenant.tokens.member, 'POST', '/runs/batch', { body: { items: [item, item] } });
  const again = await world.call(tenant.tokens.member, 'POST', `/runs/${retried.body.id}/retry`, { body: {} });
  const args = { body: { arguments: { url: 'https://example.com' } } };
  const tested = await world.call(tenant.tokens.admin, 'POST', `/tools/${tool.body.id}/test`, args);
  await budgets.day('0', { isEnforced: false });
  const counted = await start();

  expect([alone.status, again.status, tested.status]).toEqual([402, 402, 402]);
  expect(batch.body).toMatchObject({
    created: 0,
    failed: 2,
    items: [{ error: { code: 'budget_exceeded' } }, { error: { code: 'budget_exceeded' } }],
  });
  expect(counted.status).toBe(202);
});

test('a window that has ended refuses nobody, nor does another workspace', async () => {
  const { tenant, start } = await starter();
  await budgetsOf(tenant).day('1');
  await spend(tenant, 'spent', '5');
  const other = await starter();
  const elsewhere = await other.start();
  const before = await start();
  await budgetsOf(tenant).endsIn(-1);

  expect([elsewhere.status, before.status, (await start()).status]).toEqual([202, 402, 202]);
});

test('admission takes no statement of its own', async () => {
  const { tenant, start } = await starter({ session_key: 's' });
  const taken = async () => {
    statements.length = 0;
    expect((await start()).status).toBe(202);
    return statements.filter((sql) => !/gate_|set_config|from "outbox"|update "outbox"/.test(sql)).length;
  };
  await start();

  const without = await taken();
  await budgetsOf(tenant).day('1');
  const within = await taken();

  // One more where an enforced budget demands that the model has a price.
  expect(within - without).toBe(1);
});

test('max_cost opens a cap with the run, the lower of what is asked and what the revision allows', async () => {
  const { tenant, start } = await starter();
  const revision = { instructions: 'x', limits: { max_cost: '2.5', on_budget: 'wait', max_children: 4 } };
  const capped = await makeAgent(world, tenant.tokens.admin, { slug: 'capped', revision });

  const asked = await start({ limits: { max_cost: '1.50' } });
  const above = await start({ agent_id: capped.id, limits: { max_cost: '3', on_budget: 'fail' } });
  const own = await start({ agent_id: capped.id });

  expect([asked, above, own].map(({ body }) => body.limits.max_cost)).toEqual(['1.50', '2.50', '2.50']);
  expect([above, own].map(({ body }) => [body.limits.on_budget, body.limits.max_children])).toEqual([
    ['fail', 4],
    ['wait', 4],
  ]);
  const windows = await budgetsOf(tenant).windows();
  expect(windows.map(({ name }) => name).toSorted()).toEqual([asked, above, own].map(({ body }) => `run:${body.id}`).toSorted());
});

test('a cancelled run that waited in line closes its cap', async () => {
  const { tenant, start } = await starter({ session_key: 's', limits: { max_cost: '1' } });
  await start();
  const inLine = await start();

  await world.call(tenant.tokens.member, 'POST', `/runs/${inLine.body.id}/cancel`, { body: {} });

  const windows = await budgetsOf(tenant).windows();
  expect(windows.find(({ name }) => name === `run:${inLine.body.id}`)).toMatchObject({ is_closed: true });
});

test.each(['-1', '1e3', '1.0000000001', '123456789012', '', '01', 'NaN'])('max_cost %j is refused', async (maxCost) => {
  const { start } = await starter();

  expect((await start({ limits: { max_cost: maxCost } })).status).toBe(422);
});

test('a model without a price is refused under an enforced budget, or wherever the deployment says so', async () => {
  const { tenant, start } = await starter({}, strict);
  const rejected = await start();
  const lenient = await starter({ revision_id: null });
  await admin(`delete from model_prices`);
  const free = await lenient.start();
  await budgetsOf(lenient.tenant).day('5');
  const bounded = await lenient.start();
  const { body: told } = await world.call(lenient.tenant.tokens.member, 'POST', `/agents/${lenient.agent.id}/validate`, {
    body: { revision: { instructions: 'x' } },
  });
  await priceCall(world.api.db, 'compatible/scripted', '0.1');
  const priced = await lenient.start();

  expect(tenant.workspaceId).not.toBe(lenient.tenant.workspaceId);
  for (const refused of [rejected, bounded])
    expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed', context: { reason: 'unpriced_model' } } });
  expect([free.status, priced.status]).toEqual([202, 202]);
  expect(told).toMatchObject({ valid: true, problems: [{ severity: 'warning', stage: 'run', pointer: '/model', rule: 'unpriced_model' }] });
});

test('validation and effective configuration name a limit of a run above what an enforced budget allows', async () => {
  const { tenant, agent } = await starter();
  const warned = async (maxCost: string | null) => {
    const { body } = await world.call(tenant.tokens.member, 'POST', `/agents/${agent.id}/validate`, {
      body: { revision: { instructions: 'x', limits: { max_cost: maxCost } } },
    });
    return body.problems.map(({ pointer, rule, severity }: Record<string, string>) => `${severity} ${pointer} ${rule}`);
  };
  const unbounded = await warned('100');
  await budgetsOf(tenant).day('5', { isEnforced: false });
  const counted = await warned('100');
  await budgetsOf(tenant).day('5');

  expect([unbounded, counted]).toEqual([[], []]);
  expect(await warned('5.000000001')).toEqual(['warning /limits/max_cost above_budget']);
  expect([await warned('5'), await warned(null)]).toEqual([[], []]);
  await admin(`update budgets set currency = 'EUR' where workspace_id = $1`, [tenant.workspaceId]);
  await admin(`update budget_windows set currency = 'EUR', fx_rate = 0.5 where workspace_id = $1`, [tenant.workspaceId]);
  expect([await warned('10'), await warned('10.01')]).toEqual([[], ['warning /limits/max_cost above_budget']]);
});

test('a reservation and a start at once: the start is judged by what is committed', async () => {
  const { tenant, start } = await starter();
  await budgetsOf(tenant).day('0.3');
  const { organizationId, workspaceId } = tenant;
  const place = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
  await transact(world.api.db, place, (tx) => reserve(tx, { callKey: newId(), organizationId, workspaceId, caps: [], estimate: '0.3' }));

  expect((await start()).status).toBe(429);
});
