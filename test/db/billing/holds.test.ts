import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { closeRunCaps } from '../../../db/billing/budgets/caps.ts';
import { cutWindow } from '../../../db/billing/budgets/cut-window.ts';
import { releaseHolds, renewHolds, reserve } from '../../../db/billing/budgets/holds.ts';
import { settleHolds } from '../../../db/billing/ledger/settle.ts';
import { expireHolds } from '../../../db/billing/ledger/upkeep.ts';
import { rollWindows } from '../../../db/billing/budgets/windows.ts';
import { newId } from '../../../db/ids.ts';
import { connectDatabases } from '../../../db/orm.ts';
import type { Databases } from '../../../db/databases.ts';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { seeded } from '../../support/seeded.ts';
import { until } from '../../support/temporal.ts';
import { openBudgetWorld, type BudgetPlace, type BudgetWorld } from './budget-world.ts';

let world: BudgetWorld;
let other: Databases;
const seen: string[] = [];

beforeAll(async () => {
  world = await openBudgetWorld({ onQuery: (sql) => seen.push(sql), poolMax: 16 });
  const { appUrl, sweeperUrl } = world.database;
  other = await connectDatabases({
    appUrl,
    sweeperUrl,
    poolMax: 16,
    sweeperPoolMax: 1,
    applicationName: 'second process',
    acquireTimeoutMs: 15_000,
    log: pino({ level: 'silent' }),
    onQuery: () => undefined,
  });
});

afterAll(async () => {
  await other?.close();
  await world?.close();
});

const waitingForThis = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))';
const times = <R>(count: number, work: (n: number) => Promise<R>) => Promise.all(Array.from({ length: count }, (_, n) => work(n)));
const settle = (place: BudgetPlace, callKey: string, cost: string, reservedAt = new Date()) =>
  place.inPlace((tx) => settleHolds(tx, { callKey, workspaceId: place.workspaceId, cost, reservedAt }));
const cappedRun = (id: string) => ({ id, limits: { max_cost: '5' } });
const byOutcome = (found: readonly { outcome: string }[], outcome: string) => found.filter((one) => one.outcome === outcome).length;

test('of 200 reservations of 0.50 at once against 10.00 exactly 20 are admitted, on two pools', async () => {
  const place = await world.place();
  await place.budget({ limit: '10' });

  const found = await times(200, (n) => place.reserve({ estimate: '0.50' }, n % 2 === 0 ? undefined : other));

  expect([byOutcome(found, 'ok'), byOutcome(found, 'busy')]).toEqual([20, 180]);
  expect(await place.windows()).toMatchObject([{ name: 'day', reserved: '10.000000000', spent: '0.000000000' }]);
});

test('a refused call leaves no part in any window', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  await place.budget({ period: 'month', limit: '10' });

  const found = await times(50, () => place.reserve({ estimate: '0.30' }));

  expect(byOutcome(found, 'ok')).toBe(3);
  expect((await place.windows()).map(({ reserved }) => reserved)).toEqual(['0.900000000', '0.900000000']);
});

test('20 calls at once at 99 % of a cap: none that has no room is let pass', async () => {
  const place = await world.place();
  const cap = await place.cap(newId(), '1.00');
  const first = newId();
  await place.reserve({ callKey: first, estimate: '0.99', caps: [cap] });
  await settle(place, first, '0.99');

  const found = await times(20, () => place.reserve({ estimate: '0.01', caps: [cap] }));
  const refused = await place.reserve({ estimate: '0.02', caps: [cap] });

  expect([byOutcome(found, 'ok'), byOutcome(found, 'busy')]).toEqual([1, 19]);
  expect(refused).toEqual({ outcome: 'full', fullAt: cap });
  expect(await place.windows()).toMatchObject([{ spent: '0.990000000', reserved: '0.010000000' }]);
});

test('zero, null, no budget and one that is not enforced are four different things', async () => {
  const zero = await world.place();
  await zero.budget({ limit: '0' });
  const none = await world.place();
  const open = await world.place();
  await open.budget({ limit: null });
  const counted = await world.place();
  await counted.budget({ limit: '1', isEnforced: false });
  const places = [zero, none, open, counted];

  const found = await Promise.all(places.map((place) => place.reserve({ callKey: `k:${place.workspaceId}`, estimate: '2' })));
  for (const place of places.slice(1)) await settle(place, `k:${place.workspaceId}`, '2');

  expect(found.map(({ outcome }) => outcome)).toEqual(['full', 'ok', 'ok', 'ok']);
  const spent = await Promise.all(places.map((place) => place.windows()));
  expect(spent.map((windows) => windows.map((window) => window.spent))).toEqual([['0.000000000'], [], ['2.000000000'], ['2.000000000']]);
});

test('a changed limit is judged by the next reservation', async () => {
  const place = await world.place();
  const budget = await place.budget({ limit: '1' });
  await place.reserve({ estimate: '0.5' });

  await place.sql('update budget_windows set limit_amount = 0.6 where budget_id = ?', [budget]);
  const lowered = await place.reserve({ estimate: '0.5' });
  await place.sql('update budget_windows set limit_amount = 5 where budget_id = ?', [budget]);
  const raised = await place.reserve({ estimate: '0.5' });

  expect([lowered.outcome, raised.outcome]).toEqual(['busy', 'ok']);
});

test('a key that holds already is the same reservation, and one call settles once', async () => {
  const place = await world.place();
  await place.budget({ limit: '1', thresholdPct: 50 });
  const callKey = newId();

  const twice = [await place.reserve({ callKey, estimate: '0.8' }), await place.reserve({ callKey, estimate: '0.8' })];
  const settled = await Promise.all([settle(place, callKey, '0.7'), settle(place, callKey, '0.7')]);

  expect(twice.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
  const told = {
    period: 'day',
    limit: '1.000000000',
    spent: '0.700000000',
    reserved: '0.000000000',
    pct: 70,
    isCrossed: true,
    crossed: 'warning',
  };
  expect(settled.flat()).toMatchObject([told]);
  expect(await place.windows()).toMatchObject([{ spent: '0.700000000', reserved: '0.000000000' }]);
});

test('a cost above the estimate is counted in full, told for the metric, and the next call refused', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  const callKey = newId();
  await place.reserve({ callKey, estimate: '0.2' });
  const settled = await settle(place, callKey, '1.5');

  expect(settled).toMatchObject([{ aboveEstimate: '1.300000000' }]);
  expect(await place.reserve({ estimate: '0.000000001' })).toEqual({ outcome: 'full', fullAt: 'day' });
  expect(await place.windows()).toMatchObject([{ spent: '1.500000000', reserved: '0.000000000' }]);
});

test('a call that an admin has let pass is held and counted past every limit', async () => {
  const place = await world.place();
  await place.budget({ limit: '0' });
  const callKey = newId();

  const found = await place.reserve({ callKey, estimate: '0.2', isAllowed: true });
  await settle(place, callKey, '0.1');

  expect(found.outcome).toBe('ok');
  expect(await place.windows()).toMatchObject([{ spent: '0.100000000', reserved: '0.000000000' }]);
});

test('what a lost call holds is given back after its lease, not before; a settling that comes late counts what it cost', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  const [lost, alive] = [newId(), newId()];
  for (const callKey of [lost, alive]) await place.reserve({ callKey, estimate: '0.4' });
  await place.sql(`update budget_holds set lease_until = now() - interval '1 second' where call_key in (?, ?)`, [lost, alive]);
  const renewed = await place.inPlace((tx) => renewHolds(tx, alive));

  const expired = await sweep(world.database.db, (em) => expireHolds(em, 500));
  const after = await place.windows();
  await settle(place, lost, '0.3');

  expect([renewed, expired]).toEqual([true, 1]);
  expect(after).toMatchObject([{ reserved: '0.400000000', spent: '0.000000000' }]);
  expect(await place.windows()).toMatchObject([{ reserved: '0.400000000', spent: '0.300000000' }]);
  expect(await place.inPlace((tx) => renewHolds(tx, lost))).toBe(false);
});

test('a budget that is written in the moment in which the window of another turns waits for no reservation that waits for it', async () => {
  const place = await world.place();
  const [day] = [await place.budget({ period: 'day', limit: '1' }), await place.budget({ period: 'month', limit: '1' })];
  await place.reserve({ estimate: '0.1' });
  await place.sql(`update budget_windows set window_end = now() - interval '1 millisecond' where workspace_id = ? and period = 'month'`, [
    place.workspaceId,
  ]);

  const { reserving } = await place.inPlace(async (tx) => {
    await rollWindows(tx.em, place.workspaceId);
    const waiting = place.reserve({ estimate: '0.1' }, other);
    await until(async () => (await rows(tx.em, waitingForThis)).length > 0);
    await cutWindow(tx, { budgetId: day, isMoved: false, rate: null });
    return { reserving: waiting };
  });

  // That neither had to be broken off says the last test.
  expect(await reserving).toMatchObject({ outcome: 'ok' });
});

test('a lease is renewed without waiting for whoever has the hold, who may wait for another one of the call', async () => {
  const place = await world.place();
  for (const period of ['day', 'month'] as const) await place.budget({ period, limit: '1' });
  const callKey = newId();
  await place.reserve({ callKey, estimate: '0.4' });

  const renewed = await place.inPlace(async ({ em }) => {
    await rows(em, `select from budget_holds where call_key = ? order by window_id limit 1 for update`, [callKey]);
    return place.inPlace((tx) => renewHolds(tx, callKey), other);
  });

  expect(renewed).toBe(true);
});

test('a window that another transaction is just changing is waited for and never passed by', async () => {
  const place = await world.place();
  await place.budget({ limit: '10' });
  const cap = await place.cap(newId(), '5');
  const keys = [newId(), newId(), newId(), newId()];
  const [settled = '', released = '', expired = '', late = ''] = keys;
  for (const callKey of [settled, released, expired]) await place.reserve({ callKey, estimate: '1', caps: [cap] });
  await place.sql(`update budget_holds set lease_until = now() - interval '1 second' where call_key = ?`, [expired]);
  /** Does it while every window of the place is held with a change. */
  const meanwhile = async <R>(work: () => Promise<R>): Promise<R> => {
    let doing: Promise<R> | undefined;
    await place.inPlace(async (tx) => {
      await rows(tx.em, 'update budget_windows set budget_version = budget_version + 1 where workspace_id = ?', [place.workspaceId]);
      doing = work();
      await delay(200);
    });
    if (doing === undefined) throw new Error('nothing was done');
    return doing;
  };

  await meanwhile(() => settle(place, settled, '0.7'));
  await meanwhile(() => place.inPlace((tx) => releaseHolds(tx, released)));
  await meanwhile(() => sweep(world.database.db, (em) => expireHolds(em, 500)));
  const found = await meanwhile(() => place.reserve({ callKey: late, estimate: '4.4', caps: [cap] }));

  expect(found).toEqual({ outcome: 'full', fullAt: cap });
  expect((await place.windows()).map(({ spent, reserved }) => [spent, reserved])).toEqual([
    ['0.700000000', '0.000000000'],
    ['0.700000000', '0.000000000'],
  ]);
});

test('caps that close with a tree are locked in the order of every reservation', async () => {
  const place = await world.place();
  const [root, child] = [newId(), newId()];
  // Their order is that of their own ids, whatever the order of what they bound.
  const caps = [await place.cap(child, '5'), await place.cap(root, '5')];
  let doing: Promise<unknown>[] = [];

  await place.inPlace(async (tx) => {
    // Everybody has to begin with this one, and waits for it.
    await rows(tx.em, 'update budget_windows set budget_version = 2 where cap_key = ?', [caps[0]]);
    doing = [place.reserve({ estimate: '1', caps })];
    await delay(200);
    doing.push(place.inPlace((other) => closeRunCaps(other, [cappedRun(root), cappedRun(child)])));
    await delay(200);
  });

  expect(await Promise.all(doing)).toMatchObject([{ outcome: 'ok' }, undefined]);
  expect((await place.windows()).map(({ reserved, is_closed: isClosed }) => [reserved, isClosed])).toEqual([
    ['1.000000000', true],
    ['1.000000000', true],
  ]);
});

test('a key that held and was given up holds again when it is reserved again, and settles once', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  const callKey = newId();
  await place.reserve({ callKey, estimate: '0.4' });
  await place.sql(`update budget_holds set lease_until = now() - interval '1 second' where call_key = ?`, [callKey]);
  await sweep(world.database.db, (em) => expireHolds(em, 500));

  const again = await place.reserve({ callKey, estimate: '0.6' });
  const held = await place.windows();
  const others = await place.reserve({ estimate: '0.5' });
  await settle(place, callKey, '0.3');
  const afterwards = await place.reserve({ callKey, estimate: '0.2' });

  expect([again.outcome, others.outcome, afterwards.outcome]).toEqual(['ok', 'busy', 'ok']);
  expect(held).toMatchObject([{ reserved: '0.600000000', spent: '0.000000000' }]);
  expect(await place.windows()).toMatchObject([{ reserved: '0.000000000', spent: '0.300000000' }]);
  expect(await place.holds()).toMatchObject([{ call_key: callKey, state: 'settled' }]);
});

test('another workspace neither sees nor pays', async () => {
  const place = await world.place();
  const stranger = await world.place();
  await place.budget({ limit: '1' });
  const cap = await place.cap(newId(), '0');

  const found = await stranger.reserve({ estimate: '5', caps: [cap] });
  const crossed = stranger.inPlace((tx) =>
    reserve(tx, { callKey: newId(), organizationId: place.organizationId, workspaceId: place.workspaceId, caps: [], estimate: '0.5' }),
  );

  expect(found.outcome).toBe('ok');
  await crossed.catch(() => undefined);
  expect(await place.holds()).toEqual([]);
});

test('a reservation, a release and a settling are one statement each', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  await place.reserve({ estimate: '0.1' });
  const callKey = newId();
  const taken = async (work: () => Promise<unknown>) => {
    seen.length = 0;
    await work();
    return seen.filter((sql) => !/^(begin|commit|set |select set_config)/i.test(sql)).length;
  };

  expect(await taken(() => place.reserve({ callKey, estimate: '0.1' }))).toBe(1);
  expect(await taken(() => settle(place, callKey, '0.1'))).toBe(1);
  expect(await taken(() => place.inPlace((tx) => releaseHolds(tx, callKey)))).toBe(1);
});

test.each([11, 12, 13])(
  'after random reservations, settlings, releases and expiries at once the windows add up (seed %i)',
  async (seed) => {
    const random = seeded(seed);
    const place = await world.place();
    await place.budget({ limit: '20' });
    await place.budget({ period: 'month', limit: '30' });
    const caps = [await place.cap(newId(), '8'), await place.cap(newId(), '12')];
    const plan = Array.from({ length: 120 }, () => ({
      callKey: newId(),
      estimate: `${random.between(0, 2)}.${random.between(1, 999_999_999)}`,
      caps: caps.filter(() => random.next() < 0.5),
      cost: `${random.between(0, 2)}.${random.between(1, 999_999_999)}`,
      end: random.pick(['settle', 'settle twice', 'release', 'expire', 'late'] as const),
    }));

    await Promise.all(
      plan.map(async ({ callKey, estimate, caps: above, cost, end }, n) => {
        const found = await place.reserve({ callKey, estimate, caps: above }, n % 2 === 0 ? undefined : other);
        if (found.outcome !== 'ok') return;
        if (end === 'settle twice') await Promise.all([settle(place, callKey, cost), settle(place, callKey, cost)]);
        if (end === 'release' || end === 'late') await place.inPlace((tx) => releaseHolds(tx, callKey));
        if (end === 'settle' || end === 'late') await settle(place, callKey, cost);
        if (end !== 'expire') return;
        await place.sql(`update budget_holds set lease_until = now() - interval '1 minute' where call_key = ?`, [callKey]);
        await sweep(world.database.db, (em) => expireHolds(em, 10));
      }),
    );
    await sweep(world.database.db, (em) => expireHolds(em, 500));

    const costs = new Map(plan.map(({ callKey, cost }) => [callKey, cost]));
    const sums = await place.sql<{ id: string; spent: string; reserved: string; calls: string[] }>(
      `select w.id, w.spent::text as spent, w.reserved::text as reserved, array_agg(h.call_key) filter (where h.state = 'settled') as calls
       from budget_windows w left join budget_holds h on h.window_id = w.id where w.workspace_id = ? group by w.id`,
      [place.workspaceId],
    );
    expect(sums).toHaveLength(4);
    for (const { spent, reserved, calls } of sums) {
      const paid = (calls ?? []).reduce((sum, key) => sum + nanos(costs.get(key) ?? '0'), 0n);
      expect([nanos(spent), nanos(reserved)]).toEqual([paid, 0n]);
    }
  },
);

test('none of all this has been a deadlock', async () => {
  // Each process tells its numbers when it has been idle for a second.
  await delay(1_500);
  const [found] = await sweep(world.database.db, (em) =>
    rows<{ deadlocks: number }>(em, 'select deadlocks from pg_stat_database where datname = current_database()'),
  );

  expect(found?.deadlocks).toBe(0);
});

function nanos(amount: string): bigint {
  const [whole = '0', decimals = ''] = amount.split('.');
  return BigInt(whole + decimals.padEnd(9, '0'));
}
