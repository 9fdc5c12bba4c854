import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { putManagedRule } from '../../../db/alerts/managed-rule.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { createRule, openAlert, putSecret, ruleBody, sqlOf } from './alert-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

async function managedRule({ organizationId, workspaceId }: TestTenant): Promise<string> {
  const [budgetId, tenant] = [newId(), workspaceTenant(organizationId, workspaceId)];
  const budget = { budgetId, organizationId, workspaceId, period: 'day', alertThresholdPct: 80 } as const;
  const made = await transact(world.api.db, { tenant, actor: systemActor, correlationId: newId() }, (tx) => putManagedRule(tx, budget));
  return made.value.id;
}

test('a new rule has the defaults of its kind, and is read as it was made', async () => {
  const { tokens, workspaceId } = await world.tenant();
  const made = await createRule(world, tokens.admin, { scope: 'workspace' });

  const read = await world.call(tokens.viewer, 'GET', `/alert-rules/${made.body.id}`);
  const listed = await world.call(tokens.viewer, 'GET', '/alert-rules?q=SPEND&kind=spend&is_active=true&managed=false');

  expect(made.status).toBe(201);
  expect(made.headers['location']).toBe(`/alert-rules/${made.body.id}`);
  expect(read.body).toEqual(made.body);
  expect(read.headers['etag']).toBe('"1"');
  expect(made.body).toMatchObject({
    scope: 'workspace',
    workspace_id: workspaceId,
    group_by: 'none',
    threshold: '25.00',
    warning_threshold: null,
    window_s: 300,
    for_s: 0,
    keep_firing_s: 0,
    repeat_interval_s: 14_400,
    no_data_mode: 'ok',
    targets: [{ kind: 'admins' }],
    is_active: true,
    managed: false,
    budget_id: null,
    state: 'unknown',
    last_evaluated_at: null,
  });
  expect(listed.body.items).toEqual([made.body]);
});

test.each<[string, Record<string, unknown>, string]>([
  ['no name', { name: undefined }, '/name'],
  ['a number for a name', { name: 7 }, '/name'],
  ['a name of 201', { name: 'a'.repeat(201) }, '/name'],
  ['a kind that only budgets have', { kind: 'budget' }, '/kind'],
  ['an unknown operator', { operator: 'eq' }, '/operator'],
  ['no threshold', { threshold: undefined }, '/threshold'],
  ['a threshold below 0', { threshold: '-1' }, '/threshold'],
  ['an exponent', { threshold: '1e3' }, '/threshold'],
  ['10 decimals', { threshold: '0.0000000001' }, '/threshold'],
  ['10 decimals, the last of them 0', { threshold: '0.1000000000' }, '/threshold'],
  ['10^11', { threshold: '100000000000' }, '/threshold'],
  ['a number of 16 digits', { threshold: 1.234567890123456 }, '/threshold'],
  ['a warning on the bad side', { warning_threshold: '30' }, '/warning_threshold'],
  ['a warning equal to the threshold', { warning_threshold: '25.0' }, '/warning_threshold'],
  ['a warning on the bad side of lt', { operator: 'lt', warning_threshold: '20' }, '/warning_threshold'],
  ['a window of 59 s', { window_s: 59 }, '/window_s'],
  ['a window of 31 days', { window_s: 2_592_001 }, '/window_s'],
  ['a repeat after 299 s', { repeat_interval_s: 299 }, '/repeat_interval_s'],
  ['for_s of over a day', { for_s: 86_401 }, '/for_s'],
  ['no target', { targets: [] }, '/targets'],
  ['11 targets', { targets: Array.from({ length: 11 }, () => ({ kind: 'admins' })) }, '/targets'],
  ['an unknown user', { targets: [{ kind: 'user', user_id: newId() }] }, '/targets/0/user_id'],
  ['an unknown secret', { targets: [{ kind: 'admins' }, { kind: 'slack', secret_name: 'nope' }] }, '/targets/1/secret_name'],
  ['a private address', { targets: [{ kind: 'webhook', url: 'https://127.0.0.1/x', secret_name: 'hook' }] }, '/targets/0/url'],
  ['plain http', { targets: [{ kind: 'webhook', url: 'http://example.com/x', secret_name: 'hook' }] }, '/targets/0/url'],
  ['a URL with a password', { targets: [{ kind: 'webhook', url: 'https://a:b@example.com/', secret_name: 'hook' }] }, '/targets/0/url'],
  ['an unknown agent', { agent_id: newId() }, '/agent_id'],
  ['an agent of deliveries', { kind: 'delivery_failures', group_by: 'agent' }, '/group_by'],
  ['a field that nobody knows', { budget_id: newId() }, '/budget_id'],
  ['another organization’s workspace', { workspace_id: newId() }, '/workspace_id'],
])('%s is 422 at its place, and nothing is stored', async (_name, more, pointer) => {
  const tenant = await world.tenant();

  const refused = await createRule(world, tenant.tokens.admin, more);

  expect(refused.status).toBe(422);
  expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  expect(await sql('select id from alert_rules where organization_id = ?', [tenant.organizationId])).toEqual([]);
});

test('a threshold may be a number or a text; a webhook is shown without its query, and Slack by the name of its secret', async () => {
  const tenant = await world.tenant();
  await putSecret(world, tenant, 'hook');
  const url = 'https://example.com/hook?token=s3cret';
  const targets = [
    { kind: 'webhook', url, secret_name: 'hook' },
    { kind: 'slack', secret_name: 'hook' },
  ];

  const made = await createRule(world, tenant.tokens.admin, { scope: 'workspace', threshold: 12.5, warning_threshold: 7, targets });

  expect(made.body).toMatchObject({ threshold: '12.50', warning_threshold: '7.00' });
  expect(made.body.targets).toEqual([
    { kind: 'webhook', url: 'https://example.com/hook', secret_name: 'hook' },
    { kind: 'slack', secret_name: 'hook' },
  ]);
  expect(await sql('select targets from alert_rules where id = ?', [made.body.id])).toEqual([{ targets }]);
});

test('a user who is named must see where the rule lies; another tenant’s user, agent and rule are unknown', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const users = await sql<{ id: string }>('select id from users where organization_id = ? limit 1', [other.organizationId]);
  const foreignAgent = await makeAgent(world, other.tokens.admin);
  const foreignRule = await createRule(world, other.tokens.admin);

  const user = await createRule(world, tenant.tokens.admin, { targets: [{ kind: 'user', user_id: users[0]?.id }] });
  const agent = await createRule(world, tenant.tokens.admin, { agent_id: foreignAgent.id });
  const calls = await Promise.all(
    (['GET', 'PATCH', 'DELETE'] as const).map((method) =>
      world.call(tenant.tokens.admin, method, `/alert-rules/${foreignRule.body.id}`, method === 'PATCH' ? { body: { name: 'x' } } : {}),
    ),
  );

  expect([user.status, agent.status, ...calls.map(({ status }) => status)]).toEqual([422, 422, 404, 404, 404]);
});

test('a rule names an agent that runs where it lies, whoever names it', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const other = await world.tenant();
  const [first, second] = tenant.workspaceIds;
  const { token } = tenant.organizationAdmin;
  const agent = await makeAgent(world, token, { scope: 'workspace', workspace_id: second });
  const shared = await makeAgent(world, token, { scope: 'organization' });
  const name = (agentId: string, place: object, by = token) => createRule(world, by, { agent_id: agentId, ...place });

  const elsewhere = await name(agent.id, { workspace_id: first });
  const moved = await createRule(world, token, { workspace_id: first });
  const changed = await world.call(token, 'PATCH', `/alert-rules/${moved.body.id}`, { body: { agent_id: agent.id } });
  const byOperator = await name(agent.id, { scope: 'workspace', workspace_id: other.workspaceId }, tenant.tokens.operator);
  const fitting = await Promise.all([
    name(agent.id, { workspace_id: second }),
    name(agent.id, { scope: 'organization' }),
    name(shared.id, { workspace_id: first }),
  ]);

  for (const refused of [elsewhere, changed, byOperator])
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/agent_id', rule: 'reference' }] } });
  expect(fitting.map(({ status }) => status)).toEqual([201, 201, 201]);
});

test('a member may not make, change or delete a rule', async () => {
  const { tokens } = await world.tenant();
  const made = await createRule(world, tokens.admin);
  const path = `/alert-rules/${made.body.id}`;

  const tried = [
    await createRule(world, tokens.member),
    await world.call(tokens.member, 'PATCH', path, { body: { name: 'x' } }),
    await world.call(tokens.member, 'DELETE', path),
    await world.call(tokens.member, 'POST', `${path}/test`),
  ];

  expect(tried.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

test('an organization has at most 200 rules, also when two are made at once', async () => {
  const tenant = await world.tenant();
  const first = await createRule(world, tenant.tokens.admin);
  await sql(
    `insert into alert_rules (id, organization_id, workspace_id, name, kind, operator, threshold)
     select gen_random_uuid(), organization_id, workspace_id, name, kind, operator, threshold from alert_rules, generate_series(1, 198) where id = ?`,
    [first.body.id],
  );

  const both = await Promise.all([createRule(world, tenant.tokens.admin), createRule(world, tenant.tokens.admin)]);

  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(both.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'state_conflict', context: { reason: 'limit_reached' } });
});

test('a change keeps what it does not name, counts the version and demands it where If-Match says so', async () => {
  const { tokens } = await world.tenant();
  const { body: rule } = await createRule(world, tokens.admin, { warning_threshold: '20' });
  const path = `/alert-rules/${rule.id}`;

  const changed = await world.call(tokens.admin, 'PATCH', path, {
    body: { warning_threshold: null, for_s: 60 },
    headers: { 'if-match': '"1"' },
  });
  const stale = await world.call(tokens.admin, 'PATCH', path, { body: { name: 'x' }, headers: { 'if-match': '"1"' } });
  const bad = await world.call(tokens.admin, 'PATCH', path, { body: { kind: 'spend' } });

  expect(changed.body).toEqual({ ...rule, warning_threshold: null, for_s: 60, updated_at: changed.body.updated_at });
  expect(changed.headers['etag']).toBe('"2"');
  expect([stale.status, bad.status]).toEqual([412, 422]);
});

test.each<[string, Record<string, unknown>]>([
  ['paused', { is_active: false }],
  ['given another threshold', { threshold: '26' }],
  ['measured by group', { group_by: 'agent' }],
])('a rule that is %s ends its open alerts as rule_changed, and nothing is sent', async (_name, change) => {
  const tenant = await world.tenant();
  const { body: rule } = await createRule(world, tenant.tokens.admin);
  const alertId = await openAlert(world, tenant, rule.id);
  const before = await sql('select id from alert_deliveries where alert_id = ?', [alertId]);

  await world.call(tenant.tokens.admin, 'PATCH', `/alert-rules/${rule.id}`, { body: change });

  const alert = await world.call(tenant.tokens.viewer, 'GET', `/alerts/${alertId}`);
  expect(alert.body).toMatchObject({ status: 'resolved', resolution: 'rule_changed' });
  expect(alert.body.deliveries).toHaveLength(before.length);
});

test('a change that judges nothing otherwise leaves open alerts alone', async () => {
  const tenant = await world.tenant();
  const { body: rule } = await createRule(world, tenant.tokens.admin);
  const alertId = await openAlert(world, tenant, rule.id);

  await world.call(tenant.tokens.admin, 'PATCH', `/alert-rules/${rule.id}`, {
    body: { name: 'Other', threshold: '25.000', repeat_interval_s: 600 },
  });

  const alert = await world.call(tenant.tokens.viewer, 'GET', `/alerts/${alertId}`);
  expect(alert.body).toMatchObject({ status: 'firing', rule_name: 'Other' });
});

test('a deleted rule is gone for everybody; its alerts end, are sent to nobody and stay readable', async () => {
  const tenant = await world.tenant();
  const { body: rule } = await createRule(world, tenant.tokens.admin);
  const alertId = await openAlert(world, tenant, rule.id);

  const deleted = await world.call(tenant.tokens.admin, 'DELETE', `/alert-rules/${rule.id}`);
  const again = await world.call(tenant.tokens.admin, 'DELETE', `/alert-rules/${rule.id}`);

  expect([deleted.status, again.status]).toEqual([204, 404]);
  const alert = await world.call(tenant.tokens.viewer, 'GET', `/alerts/${alertId}`);
  expect(alert.body).toMatchObject({ status: 'resolved', resolution: 'rule_changed', rule_name: rule.name });
  expect(alert.body.deliveries.every(({ event }: { event: string }) => event === 'firing')).toBe(true);
});

test('of the rule of a budget only targets, repeat interval and activity can be changed; it can not be deleted', async () => {
  const tenant = await world.tenant();
  const path = `/alert-rules/${await managedRule(tenant)}`;

  const changed = await world.call(tenant.tokens.admin, 'PATCH', path, { body: { repeat_interval_s: 600, is_active: false } });
  const named = await world.call(tenant.tokens.admin, 'PATCH', path, { body: { name: 'x' } });
  const deleted = await world.call(tenant.tokens.admin, 'DELETE', path);
  const listed = await world.call(tenant.tokens.viewer, 'GET', '/alert-rules?managed=true&is_active=false');

  expect(changed.body).toMatchObject({ managed: true, kind: 'budget', repeat_interval_s: 600, is_active: false, state: 'ok' });
  for (const refused of [named, deleted])
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'managed_rule' } } });
  expect(listed.body.items).toEqual([changed.body]);
});

test('a rule of the organization is seen and not changed from a workspace; none is of the platform', async () => {
  const tenant = await world.tenant();
  const made = await createRule(world, tenant.organizationAdmin.token, { scope: 'organization' });
  const path = `/alert-rules/${made.body.id}`;

  const seen = await world.call(tenant.tokens.viewer, 'GET', path);
  const changed = await world.call(tenant.tokens.admin, 'PATCH', path, { body: { name: 'x' } });
  const wider = await createRule(world, tenant.tokens.admin, { scope: 'organization' });
  const platform = await createRule(world, tenant.tokens.operator, { scope: 'platform' });

  expect(made.body).toMatchObject({ scope: 'organization', workspace_id: null });
  expect([seen.status, changed.status, wider.status, platform.status]).toEqual([200, 403, 403, 422]);
});

test('a user of a workspace can not be named by a rule of the organization, nor one who is inactive', async () => {
  const tenant = await world.tenant();
  const name = (token: string, userId: string, more = {}) =>
    createRule(world, token, { targets: [{ kind: 'user', user_id: userId }], ...more });
  const { token } = tenant.organizationAdmin;

  const narrow = await name(token, tenant.users.member.id, { scope: 'organization' });
  const own = await name(token, tenant.users.member.id, { workspace_id: tenant.workspaceId });
  await sql('update users set is_active = false where id = ?', [tenant.users.member.id]);
  const inactive = await name(token, tenant.users.member.id, { workspace_id: tenant.workspaceId });

  expect([narrow.status, own.status, inactive.status]).toEqual([422, 201, 422]);
});

test('every write stands in the audit log', async () => {
  const tenant = await world.tenant();
  const { body: rule } = await createRule(world, tenant.tokens.admin);
  await world.call(tenant.tokens.admin, 'PATCH', `/alert-rules/${rule.id}`, { body: { threshold: '30' } });
  await world.call(tenant.tokens.admin, 'DELETE', `/alert-rules/${rule.id}`);

  const entries = await sql(
    "select action, resource_label, changes from audit_entries where resource_id = ? and resource_type = 'alert_rule' order by id",
    [rule.id],
  );

  expect(entries).toEqual([
    { action: 'create', resource_label: ruleBody.name, changes: {} },
    { action: 'update', resource_label: ruleBody.name, changes: { threshold: { from: '25.00', to: '30.00' } } },
    { action: 'delete', resource_label: ruleBody.name, changes: {} },
  ]);
});
