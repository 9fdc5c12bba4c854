import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { reserve } from '../../../db/billing/budgets/holds.ts';
import { settleHolds } from '../../../db/billing/ledger/settle.ts';
import { endedWindows } from '../../../db/billing/ledger/upkeep.ts';
import { boundsNowSql, rollWindows } from '../../../db/billing/budgets/windows.ts';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { openBudgetWorld, type BudgetPlace, type BudgetWorld } from './budget-world.ts';

let world: BudgetWorld;

beforeAll(async () => {
  world = await openBudgetWorld();
});

afterAll(() => world?.close());

/** The stretch around an instant, by the very SQL of the windows. */
async function boundsAt(at: string, { period, anchor, zone }: { period: 'day' | 'month'; anchor: string; zone: string }) {
  const sql = boundsNowSql.replaceAll('clock_timestamp()', 'i.at');
  const [found] = await sweep(world.database.db, (em) =>
    rows<{ start: string; stop: string }>(
      em,
      `select to_char(bounds.start at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI') as start, to_char(bounds.stop at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI') as stop
         from (select ?::text as period, ?::date as period_start) g cross join (select ?::text as zone) z cross join (select ?::timestamptz as at) i ${sql}`,
      [period, anchor, zone, at],
    ),
  );
  return found;
}

test.each([
  ['2026-01-31T00:00Z', 'month', '2026-01-31', 'UTC', '2026-01-31T00:00', '2026-02-28T00:00'],
  ['2026-02-27T23:59Z', 'month', '2026-01-31', 'UTC', '2026-01-31T00:00', '2026-02-28T00:00'],
  ['2026-03-30T12:00Z', 'month', '2026-01-31', 'UTC', '2026-02-28T00:00', '2026-03-31T00:00'],
  ['2028-02-29T12:00Z', 'month', '2026-01-31', 'UTC', '2028-02-29T00:00', '2028-03-31T00:00'],
  // Before its anchor too every instant has its stretch.
  ['2025-12-05T12:00Z', 'month', '2026-01-31', 'UTC', '2025-11-30T00:00', '2025-12-31T00:00'],
  // 23 and 25 hours.
  ['2026-03-29T12:00Z', 'day', '2026-01-01', 'Europe/Berlin', '2026-03-28T23:00', '2026-03-29T22:00'],
  ['2026-10-25T12:00Z', 'day', '2026-01-01', 'Europe/Berlin', '2026-10-24T22:00', '2026-10-25T23:00'],
  ['2026-06-01T18:29Z', 'day', '2026-01-01', 'Asia/Kolkata', '2026-05-31T18:30', '2026-06-01T18:30'],
  ['2026-06-01T18:30Z', 'day', '2026-01-01', 'Asia/Kolkata', '2026-06-01T18:30', '2026-06-02T18:30'],
  ['2026-06-01T09:00Z', 'month', '2026-01-01', 'Pacific/Kiritimati', '2026-05-31T10:00', '2026-06-30T10:00'],
  ['2026-06-01T09:00Z', 'month', '2026-01-01', 'Pacific/Pago_Pago', '2026-05-01T11:00', '2026-06-01T11:00'],
  // No midnight: the day begins when the clocks have gone forward.
  ['2026-04-24T12:00Z', 'day', '2026-01-01', 'Africa/Cairo', '2026-04-23T22:00', '2026-04-24T21:00'],
] as const)('%s lies in the %s from %s in %s that begins %s', async (at, period, anchor, zone, start, stop) => {
  expect(await boundsAt(at, { period, anchor, zone })).toEqual({ start, stop });
});

test.each(['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Africa/Cairo', 'America/Havana'])(
  'in %s every instant of two years lies in one stretch, and each begins where the last one ends',
  async (zone) => {
    for (const [period, anchor] of [
      ['day', '2026-01-01'],
      ['month', '2026-01-31'],
    ] as const) {
      const faults = await sweep(world.database.db, (em) =>
        rows(
          em,
          `with stretches as (
             select i.at, bounds.start, bounds.stop from (select ?::text as period, ?::date as period_start) g cross join (select ?::text as zone) z
              cross join generate_series('2026-01-01T00:00Z'::timestamptz, '2028-01-01T00:00Z', interval '30 minutes') as i(at)
              ${boundsNowSql.replaceAll('clock_timestamp()', 'i.at')}),
           chained as (select *, lead(start) over (order by at) as next_start from stretches)
           select at from chained where at < start or at >= stop or start >= stop or (next_start <> start and next_start <> stop)`,
          [period, anchor, zone],
        ),
      );
      expect(faults).toEqual([]);
    }
  },
);

const roll = (place: BudgetPlace) => place.inPlace((tx) => rollWindows(tx.em, place.workspaceId));

/** Moves the open window into the past, so that it ended long ago. */
const age = (place: BudgetPlace, days: number) =>
  place.sql(
    `update budget_windows set window_start = window_start - make_interval(days => ?), window_end = window_end - make_interval(days => ?)
      where workspace_id = ? and closed_at is null and period <> 'cap'`,
    [days, days, place.workspaceId],
  );

test('a budget without a window has one from its first call on, and ten at once open no second', async () => {
  const place = await world.place('Europe/Berlin');
  await place.budget({ limit: '1' });

  const opened = await Promise.all(Array.from({ length: 10 }, () => roll(place)));

  expect(opened.reduce((sum, count) => sum + count, 0)).toBe(1);
  expect(await place.windows()).toHaveLength(1);
});

test('an ended window is closed by whoever needs the next one; it keeps what it held and what settles late', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  await place.budget({ period: 'month', limit: null });
  const early = newId();
  await place.reserve({ callKey: early, estimate: '0.9' });
  await age(place, 40);

  const next = await place.reserve({ estimate: '0.9' });
  const longAgo = new Date(Date.now() - 40 * 86_400_000);
  await place.inPlace((tx) => settleHolds(tx, { callKey: early, workspaceId: place.workspaceId, cost: '0.7', reservedAt: longAgo }));

  expect(next.outcome).toBe('ok');
  expect(await place.windows()).toMatchObject([
    { name: 'day', is_closed: true, spent: '0.700000000', reserved: '0.000000000' },
    { name: 'day', is_closed: false, spent: '0.000000000', reserved: '0.900000000' },
    { name: 'month', is_closed: true, spent: '0.700000000', reserved: '0.000000000' },
    { name: 'month', is_closed: false, spent: '0.000000000', reserved: '0.900000000' },
  ]);
});

test('a window that has ended is stale: nothing is held in it', async () => {
  const place = await world.place();
  await place.budget({ limit: '1' });
  await roll(place);
  await age(place, 2);
  const { organizationId, workspaceId } = place;

  const found = await place.inPlace((tx) => reserve(tx, { callKey: newId(), organizationId, workspaceId, caps: [], estimate: '0.1' }));

  expect(found).toEqual({ outcome: 'stale' });
  expect(await place.holds()).toEqual([]);
  expect(await sweep(world.database.db, (em) => endedWindows(em, 500))).toContain(workspaceId);
});

test('a change of zone counts from the next window, which begins where the old one ends', async () => {
  const place = await world.place('Asia/Tokyo');
  await place.budget({ limit: '1' });
  await roll(place);
  // As if Tokyo's day had ended an hour ago.
  await place.sql(
    `update budget_windows set window_start = date_trunc('second', now()) - interval '25 hours', window_end = date_trunc('second', now()) - interval '1 hour' where workspace_id = ?`,
    [place.workspaceId],
  );
  await place.sql(`update workspaces set timezone = 'America/Los_Angeles' where id = ?`, [place.workspaceId]);

  await roll(place);

  const [before, after] = await place.windows();
  const bounds = await boundsAt(new Date().toISOString(), { period: 'day', anchor: '2020-01-01', zone: 'America/Los_Angeles' });
  const start = new Date(`${bounds?.start}Z`).getTime();
  const ended = new Date(before?.window_end ?? '').getTime();
  expect(new Date(after?.window_start ?? '').getTime()).toBe(Math.max(ended, start));
  expect(new Date(after?.window_end ?? '').getTime()).toBe(new Date(`${bounds?.stop}Z`).getTime());
});
