import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AlertTarget } from '../../../db/alerts/alert-target.ts';
import { emitAlert, type AlertChange, type EmittingRule } from '../../../db/alerts/emit.ts';
import { deleteManagedRule, putManagedRule, readManagedRule } from '../../../db/alerts/managed-rule.ts';
import { newId } from '../../../db/ids.ts';
import { openBudgetWorld, type BudgetPlace, type BudgetWorld } from '../billing/budget-world.ts';

let world: BudgetWorld;

beforeAll(async () => {
  world = await openBudgetWorld();
});

afterAll(() => world?.close());

const at = new Date('2026-05-01T10:00:00Z');
const webhook: AlertTarget = { kind: 'webhook', url: 'https://example.com/hook', secret_name: 'hook' };
const reading = { severity: 'warning', title: 'Much', value: '81.5', threshold: '80' } as const;
const firing = { event: 'firing', status: 'firing', fingerprint: 'all', windowKey: 'w1', labels: {}, ...reading } as const;

async function watched(targets: AlertTarget[] = [webhook]) {
  const place = await world.place();
  const budgetId = await place.budget({ limit: '10' });
  const budget = {
    budgetId,
    organizationId: place.organizationId,
    workspaceId: place.workspaceId,
    period: 'day',
    alertThresholdPct: 80,
  } as const;
  const made = await place.inPlace((tx) => putManagedRule(tx, budget));
  const rule: EmittingRule = { ...made, targets };
  const emit = (change: AlertChange) => place.inPlace((tx) => emitAlert(tx, rule, change, at));
  return { place, budget, rule, emit };
}

const deliveriesOf = (place: BudgetPlace) =>
  place.sql<{ id: string; event: string; seq: number; target_key: string; snapshot: { status: string; value: string } }>(
    'select id, event, seq, target_key, snapshot from alert_deliveries where organization_id = ? order by seq, target_key',
    [place.organizationId],
  );

test('an alert opens once a window, with one transition and one delivery to each target, however many find the breach at once', async () => {
  const { place, emit } = await watched();

  const opened = await Promise.all(Array.from({ length: 8 }, () => emit(firing)));

  expect(opened.filter((id) => id !== null)).toHaveLength(1);
  const deliveries = await deliveriesOf(place);
  expect(deliveries).toMatchObject([{ event: 'firing', seq: 1, snapshot: { status: 'firing', value: '81.50' } }]);
  const started = await place.sql<{ target: string }>("select target from outbox where organization_id = ? and kind = 'workflow.start'", [
    place.organizationId,
  ]);
  expect(started).toEqual([{ target: `delivery:${deliveries[0]?.id}` }]);
  const transitions = await place.sql('select from_status, to_status, severity from alert_transitions where organization_id = ?', [
    place.organizationId,
  ]);
  expect(transitions).toEqual([{ from_status: 'ok', to_status: 'firing', severity: 'warning' }]);
});

test('it escalates and ends, each once; an end that is the budget’s own is sent to nobody', async () => {
  const { place, emit } = await watched();
  const alertId = (await emit(firing)) ?? '';

  const escalated = await emit({ event: 'escalated', alertId, ...reading, severity: 'critical', value: '100' });
  const ended = await emit({ event: 'resolved', alertId, resolution: 'window_ended' });
  const again = await emit({ event: 'resolved', alertId, resolution: 'manual' });
  const late = await emit({ event: 'escalated', alertId, ...reading });

  expect([escalated, ended, again, late]).toEqual([alertId, alertId, null, null]);
  expect((await deliveriesOf(place)).map(({ event }) => event)).toEqual(['firing', 'escalated']);
  const [alert] = await place.sql('select status, severity, resolution, next_seq, version from alerts where id = ?', [alertId]);
  expect(alert).toEqual({ status: 'resolved', severity: 'critical', resolution: 'window_ended', next_seq: 4, version: 3 });
});

test('admins are those who see the workspace, active ones alone, and whoever is named twice gets one', async () => {
  const { place, emit } = await watched([{ kind: 'admins' }, webhook, webhook]);
  const user = async (scope: string, role: string, isActive = true) => {
    const id = newId();
    const home = scope === 'workspace' ? place.workspaceId : null;
    await place.sql('insert into users (id, email, role, scope, organization_id, workspace_id, is_active) values (?, ?, ?, ?, ?, ?, ?)', [
      id,
      `${id}@x.test`,
      role,
      scope,
      place.organizationId,
      home,
      isActive,
    ]);
    return `user:${id}`;
  };
  const heard = [await user('organization', 'owner'), await user('organization', 'admin'), await user('workspace', 'admin')];
  for (const [scope, role, isActive] of [
    ['organization', 'member', true],
    ['workspace', 'viewer', true],
    ['organization', 'owner', false],
  ] as const)
    await user(scope, role, isActive);

  await emit(firing);

  const keys = (await deliveriesOf(place)).map(({ target_key: key }) => key);
  expect(keys.filter((key) => key.startsWith('user:')).toSorted()).toEqual(expect.arrayContaining(heard.toSorted()));
  expect(keys.filter((key) => key.startsWith('webhook:'))).toHaveLength(1);
  expect(keys.filter((key) => key.startsWith('user:'))).toHaveLength(heard.length);
});

test('a budget has one managed rule: put again it keeps what people have set, and one that was deleted is made anew', async () => {
  const { place, budget, rule } = await watched();
  await place.sql("update alert_rules set targets = '[]', is_active = false, repeat_interval_s = 600 where id = ?", [rule.id]);

  const again = await place.inPlace((tx) => putManagedRule(tx, { ...budget, alertThresholdPct: 50 }));
  await place.inPlace((tx) => deleteManagedRule(tx, budget.budgetId, at));
  const gone = await place.inPlace((tx) => readManagedRule(tx, budget.budgetId));
  const anew = await place.inPlace((tx) => putManagedRule(tx, budget));

  expect(again).toMatchObject({ id: rule.id, targets: [], isActive: false, repeatIntervalS: 600, warningThreshold: '50.000000000' });
  expect(gone).toBeNull();
  expect(anew).toMatchObject({ isActive: true, targets: [{ kind: 'admins' }] });
  expect(anew.id).not.toBe(rule.id);
});
