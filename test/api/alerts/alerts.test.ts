import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { openWorld, type World } from '../world.ts';
import { createRule, openAlert, putSecret, sqlOf } from './alert-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

async function opened(more: Parameters<typeof openAlert>[3] = {}) {
  const tenant = await world.tenant();
  const { body: rule } = await createRule(world, tenant.tokens.admin, { scope: 'workspace' });
  const alertId = await openAlert(world, tenant, rule.id, more);
  await sql(
    `insert into alert_states (rule_id, fingerprint, organization_id, workspace_id, state, level, since, last_tick, alert_id)
     values (?, 'all', ?, ?, 'firing', 'critical', now(), now(), ?)`,
    [rule.id, tenant.organizationId, tenant.workspaceId, alertId],
  );
  const path = `/alerts/${alertId}`;
  const handle = (body: object, token = tenant.tokens.member, headers = {}) => world.call(token, 'PATCH', path, { body, headers });
  return { tenant, rule, alertId, path, handle, read: async () => (await world.call(tenant.tokens.viewer, 'GET', path)).body };
}

test('an open alert is read with its changes and its notices; its rule says so', async () => {
  const { tenant, rule, alertId, read } = await opened();

  const alert = await read();
  const { body: listed } = await world.call(tenant.tokens.viewer, 'GET', `/alerts?status=firing&severity=critical&rule_id=${rule.id}`);

  expect(alert).toMatchObject({ id: alertId, rule_name: rule.name, kind: 'spend', status: 'firing', value: '30.00', threshold: '25.00' });
  expect(alert.transitions).toMatchObject([{ from: 'ok', to: 'firing', severity: 'critical', value: '30.00', by_user_id: null }]);
  // Admin and owner of the workspace and those of the organization.
  expect(alert.deliveries).toHaveLength(4);
  expect(alert.deliveries[0]).toMatchObject({
    seq: 1,
    event: 'firing',
    target: { kind: 'user' },
    status: 'queued',
    attempts: 0,
    last_status: null,
  });
  const { transitions: _transitions, deliveries: _deliveries, ...rest } = alert;
  expect(listed.items).toEqual([rest]);
  expect((await world.call(tenant.tokens.viewer, 'GET', `/alert-rules/${rule.id}`)).body.state).toBe('firing');
});

test.each<[string, Record<string, unknown>, string]>([
  ['nothing', {}, ''],
  ['a text for acknowledged', { acknowledged: 'yes' }, '/acknowledged'],
  ['a snooze in the past', { snooze_until: '2020-01-01T00:00:00Z' }, '/snooze_until'],
  ['a snooze of 31 days', { snooze_until: inDays(31) }, '/snooze_until'],
  ['no instant', { snooze_until: 'tomorrow' }, '/snooze_until'],
  ['resolve: false', { resolve: false }, '/resolve'],
  ['an unknown field', { status: 'resolved' }, '/status'],
])('%s is 422, and the alert stays as it is', async (_name, body, pointer) => {
  const { handle, read } = await opened();
  const before = await read();

  const refused = await handle(body);

  expect(refused.status).toBe(422);
  expect(refused.body.errors[0].pointer).toBe(pointer);
  expect(await read()).toEqual(before);
});

test('acknowledged names who did it and can be taken back; a snooze is set and cleared', async () => {
  const { tenant, handle } = await opened();
  const until = inDays(29);

  const both = await handle({ acknowledged: true, snooze_until: until });
  const neither = await handle({ acknowledged: false, snooze_until: null });

  expect(both.body).toMatchObject({ acknowledged_by_user_id: tenant.users.member.id, snoozed_until: until, status: 'firing' });
  expect(both.headers['etag']).toBe('"2"');
  expect(neither.body).toMatchObject({ acknowledged_at: null, acknowledged_by_user_id: null, snoozed_until: null });
});

test('resolved by hand it names who did it, tells its targets, and its group is quiet for the repeat interval', async () => {
  const { tenant, rule, handle, read } = await opened();

  const resolved = await handle({ resolve: true });

  expect(resolved.body).toMatchObject({ status: 'resolved', resolution: 'manual', resolved_by_user_id: tenant.users.member.id });
  const alert = await read();
  expect(alert.transitions[0]).toMatchObject({ from: 'firing', to: 'resolved', by_user_id: tenant.users.member.id });
  expect(alert.deliveries.filter(({ event }: { event: string }) => event === 'resolved')).toHaveLength(4);
  const [state] = await sql<{ state: string; alert_id: string | null; quiet_s: number }>(
    'select state, alert_id, extract(epoch from quiet_until - since)::int as quiet_s from alert_states where rule_id = ?',
    [rule.id],
  );
  expect(state).toEqual({ state: 'ok', alert_id: null, quiet_s: 14_400 });
});

test('two who resolve it at once: one does, the other is told 409 alert_resolved', async () => {
  const { tenant, handle, read } = await opened();

  const both = await Promise.all([handle({ resolve: true }), handle({ resolve: true }, tenant.tokens.admin)]);
  const late = await handle({ acknowledged: true });

  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect(late).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'alert_resolved' } } });
  expect((await read()).transitions).toHaveLength(2);
});

test('If-Match is compared before the state; a viewer may not, another tenant sees nothing', async () => {
  const { tenant, alertId, path, handle } = await opened();
  const other = await world.tenant();

  const stale = await handle({ resolve: true }, tenant.tokens.member, { 'if-match': '"7"' });
  const viewer = await handle({ resolve: true }, tenant.tokens.viewer);
  const foreign = [
    await world.call(other.tokens.admin, 'GET', path),
    await world.call(other.tokens.admin, 'PATCH', path, { body: { resolve: true } }),
    await world.call(other.tokens.admin, 'GET', `/alerts/${newId()}`),
  ];

  expect([stale.status, viewer.status, ...foreign.map(({ status }) => status)]).toEqual([412, 403, 404, 404, 404]);
  expect((await world.call(other.tokens.viewer, 'GET', `/alerts?rule_id=${alertId}`)).body.items).toEqual([]);
});

test('what a rule of the organization measures over all workspaces is shown to nobody who sees only some of them', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const [first = '', second = ''] = tenant.workspaceIds;
  const { body: rule } = await createRule(world, tenant.organizationAdmin.token, { scope: 'organization' });
  const open = (workspaceId: string | null) => openAlert(world, tenant, rule.id, { workspaceId, fingerprint: newId() });
  const [whole, own, foreign] = [await open(null), await open(first), await open(second)];
  const seenBy = async (token: string) => {
    const { body } = await world.call(token, 'GET', `/alerts?rule_id=${rule.id}`);
    return body.items.map(({ id }: { id: string }) => id).toSorted();
  };

  const read = await world.call(tenant.tokens.owner, 'GET', `/alerts/${whole}`);
  const handled = await world.call(tenant.tokens.owner, 'PATCH', `/alerts/${whole}`, { body: { acknowledged: true } });

  expect([read.status, handled.status]).toEqual([404, 404]);
  expect(await seenBy(tenant.tokens.owner)).toEqual([own]);
  expect(await seenBy(tenant.organizationAdmin.token)).toEqual([whole, own, foreign].toSorted());
  expect(await seenBy(tenant.tokens.operator)).toEqual([whole, own, foreign].toSorted());
});

test('a list is bounded by when alerts were opened, and refuses what it does not know', async () => {
  const { tenant, alertId } = await opened();
  const at = (query: string) => world.call(tenant.tokens.viewer, 'GET', `/alerts?${query}`);

  expect((await at(`from=${inDays(-1)}&to=${inDays(1)}`)).body.items.map(({ id }: { id: string }) => id)).toEqual([alertId]);
  expect((await at(`to=${inDays(-1)}`)).body.items).toEqual([]);
  expect((await at(`from=${inDays(1)}&to=${inDays(-1)}`)).status).toBe(422);
  expect((await at('severity=high')).status).toBe(422);
  expect((await at('resolved=true')).status).toBe(422);
});

test('neither alert nor delivery shows a secret or the query of a webhook', async () => {
  const tenant = await world.tenant();
  await putSecret(world, tenant, 'hook', 'whsec_c2VjcmV0LW9mLXRoZS1ob29rLWFib3ZlLTI0LWJ5dGVz');
  const url = 'https://example.com/hook?token=s3cret';
  const targets = [
    { kind: 'webhook', url, secret_name: 'hook' },
    { kind: 'slack', secret_name: 'hook' },
  ];
  const { body: rule } = await createRule(world, tenant.tokens.admin, { scope: 'workspace', targets });
  const alertId = await openAlert(world, tenant, rule.id);

  const { body: alert } = await world.call(tenant.tokens.viewer, 'GET', `/alerts/${alertId}`);

  expect(alert.deliveries.map(({ target }: { target: object }) => target)).toEqual(
    expect.arrayContaining([
      { kind: 'webhook', label: 'https://example.com/hook' },
      { kind: 'slack', label: 'hook' },
    ]),
  );
  expect(JSON.stringify(alert)).not.toMatch(/s3cret|whsec_/);
  const payloads = await sql('select payload from outbox where organization_id = ?', [tenant.organizationId]);
  expect(JSON.stringify(payloads)).not.toMatch(/s3cret|whsec_|example\.com/);
});
