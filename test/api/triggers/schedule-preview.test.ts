import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { makeSchedule } from './schedule-calls.ts';
import { isOfRequest } from '../../support/statements.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (statement) => statements.push(statement) });
});
afterAll(() => world?.close());

let token = '';
const preview = async (body: object) => {
  if (token === '') token = (await world.tenant()).tokens.viewer;
  return world.call(token, 'POST', '/schedules/preview', { body });
};
const zone = 'America/New_York';

/** What the clocks do with a cadence, by hand: its instants after a time, to the minute. */
const byHand: readonly (readonly [cron: string, timezone: string, dst: object | null, after: string, instants: readonly string[]])[] = [
  ['30 2 * * *', zone, null, '2026-03-07T12:00:00Z', ['2026-03-08T07:00', '2026-03-09T06:30']],
  ['30 2 * * *', zone, { gap: 'skip', repeat: 'once' }, '2026-03-07T12:00:00Z', ['2026-03-09T06:30', '2026-03-10T06:30']],
  ['30 1 * * *', zone, null, '2026-10-31T12:00:00Z', ['2026-11-01T05:30', '2026-11-02T06:30']],
  ['30 1 * * *', zone, { gap: 'shift', repeat: 'twice' }, '2026-10-31T12:00:00Z', ['2026-11-01T05:30', '2026-11-01T06:30']],
  ['*/30 * * * *', zone, null, '2026-11-01T05:00:00Z', ['2026-11-01T05:30', '2026-11-01T06:00', '2026-11-01T06:30', '2026-11-01T07:00']],
  ['*/30 * * * *', zone, null, '2026-03-08T06:00:00Z', ['2026-03-08T06:30', '2026-03-08T07:00', '2026-03-08T07:30']],
  ['0 8 * * 0', 'America/Chicago', null, '2026-03-07T20:00:00Z', ['2026-03-08T13:00']],
  ['15 2 * * *', 'Australia/Lord_Howe', null, '2026-10-03T00:00:00Z', ['2026-10-03T15:30']],
];

test('the nights on which clocks change: preview, backfill and coming occurrences agree with what was worked out by hand', async () => {
  const told: unknown[] = [];
  for (const [cron, timezone, dst, after, instants] of byHand) {
    const times = { cron, timezone, ...(dst === null ? {} : { dst }) };
    const { status, body } = await preview({ ...times, after, count: instants.length });
    const found = (body.instants as { at: string }[])?.map(({ at }) => at.slice(0, 16));
    if (status !== 200 || JSON.stringify(found) !== JSON.stringify(instants)) told.push(['preview', cron, dst, found]);
    if (Date.parse(`${instants.at(-1) ?? ''}Z`) > Date.now()) continue;

    const scene = await makeSchedule(world, times);
    const range = { from: new Date(Date.parse(after) + 1).toISOString(), to: `${instants.at(-1) ?? ''}:00Z`, dry_run: true };
    const dry = await world.call(scene.tenant.tokens.admin, 'POST', `${scene.path}/backfill`, { body: range });
    const planned = (dry.body.instants as string[])?.map((at) => at.slice(0, 16));
    if (JSON.stringify(planned) !== JSON.stringify(instants) || dry.body.planned !== instants.length)
      told.push(['backfill', cron, dst, planned]);
  }
  expect(told).toEqual([]);
});

test('what is to come of a schedule is what a preview of its times gives', async () => {
  for (const times of [
    { cron: '*/7 1-3 * * *', timezone: zone },
    { cron: '0 9 L * *', timezone: 'Pacific/Apia' },
    { every_seconds: 86_400, starts_at: '2026-01-01T10:00:00Z' },
  ]) {
    const scene = await makeSchedule(world, times);
    const listed = await world.call(scene.tenant.tokens.viewer, 'GET', `${scene.path}/occurrences?upcoming=50`);
    const previewed = await preview({ ...times, count: 50 });

    const coming = (listed.body.items as { nominal_at: string; local_time: string }[]).toReversed();
    expect(coming.map(({ nominal_at: at, local_time }) => [at, local_time])).toEqual(
      (previewed.body.instants as { at: string; local_time: string }[]).map(({ at, local_time }) => [at, local_time]),
    );
    expect(scene.view.next_run_at).toBe(coming[0]?.nominal_at);
  }
});

test('a preview says in words when it runs, how dense it is, and warns of clock changes; it writes nothing and asks nobody', async () => {
  const after = '2026-03-01T00:00:00Z';
  await preview({ every_seconds: 60 });
  statements.length = 0;
  const gap = await preview({ cron: '30 2 * * *', timezone: zone, after, count: 1 });
  expect(statements.filter(isOfRequest)).toEqual([]);
  const skip = await preview({ cron: '30 2 * * *', timezone: zone, after, dst: { gap: 'skip', repeat: 'once' } });
  const repeat = await preview({ cron: '30 1 * * *', timezone: zone, after: '2026-10-01T00:00:00Z', count: 50 });
  const dense = await preview({ cron: '*/7 * * * *', timezone: zone });
  const interval = await preview({ every_seconds: 5_400 });
  const once = await preview({ run_at: '2030-06-01T10:00:00Z', timezone: 'Asia/Kathmandu' });
  const ended = await preview({ cron: '0 * * * *', ends_at: '2020-01-01T00:00:00Z' });

  expect(gap.body).toMatchObject({ description: 'at 02:30 every day (America/New_York)', min_gap_seconds: 84_600 });
  expect(gap.body.instants).toEqual([{ at: '2026-03-01T07:30:00.000Z', local_time: '2026-03-01T02:30:00-05:00', note: null }]);
  expect(gap.body.warnings[0]).toMatchObject({
    code: 'dst_gap',
    at: '2026-03-08T07:00:00.000Z',
    message: expect.stringContaining('2026-03-08T03:00:00-04:00'),
  });
  expect(skip.body.warnings[0]).toMatchObject({ code: 'dst_gap', message: expect.stringContaining('does not run') });
  expect(repeat.body.warnings[0]).toMatchObject({
    code: 'dst_repeat',
    at: '2026-11-01T06:30:00.000Z',
    message: expect.stringContaining('first time only'),
  });
  expect(repeat.body.instants.find(({ note }: { note: string | null }) => note !== null)).toMatchObject({
    at: '2026-11-01T05:30:00.000Z',
    note: 'first_of_two',
  });
  expect([dense.body.warnings, dense.body.min_gap_seconds, dense.body.instants.length]).toEqual([[], 240, 10]);
  expect([interval.body.description, interval.body.min_gap_seconds]).toEqual(['every 90 minutes', 5_400]);
  expect([once.body.instants, once.body.min_gap_seconds]).toEqual([
    [{ at: '2030-06-01T10:00:00.000Z', local_time: '2030-06-01T15:45:00+05:45', note: null }],
    null,
  ]);
  expect([ended.status, ended.body.instants, ended.body.min_gap_seconds]).toEqual([200, [], null]);
});

test.each([
  ['no times', {}, '/cron'],
  ['two cadences', { cron: '0 8 * * *', every_seconds: 60 }, '/cron'],
  ['51 instants', { cron: '0 8 * * *', count: 51 }, '/count'],
  ['no instants', { cron: '0 8 * * *', count: 0 }, '/count'],
  ['no time', { cron: '0 8 * * *', after: 'now' }, '/after'],
  ['an unknown zone', { cron: '0 8 * * *', timezone: 'Nowhere' }, '/timezone'],
  ['fields of a schedule', { cron: '0 8 * * *', name: 'x' }, '/name'],
])('a preview of %s is 422', async (_what, body, pointer) => {
  const { status, body: told } = await preview(body);

  expect([status, told.errors[0].pointer]).toEqual([422, pointer]);
});
