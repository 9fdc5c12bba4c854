import { expect, test } from '@jest/globals';
import { strikeAt, strikesAfter, type DstRules, type Timetable } from '../../ports/schedule/cadence.ts';
import { compileTimetable } from '../../ports/schedule/compile-cadence.ts';
import { CronError, parseCron } from '../../ports/schedule/cron.ts';

const usual: DstRules = { gap: 'shift', repeat: 'once' };

function cron(text: string, zone = 'UTC', dst: Partial<DstRules> = {}): Timetable {
  return { cadence: { kind: 'cron', spec: parseCron(text) }, zone, dst: { ...usual, ...dst }, startsAt: null, endsAt: null };
}

/** Instants that fire after one, as UTC texts to the minute. */
function fires(timetable: Timetable, after: string, count: number): string[] {
  const strikes = strikesAfter(timetable, { after: Date.parse(after), count });
  return strikes.filter(({ isSkipped }) => !isSkipped).map(({ at }) => `${new Date(at).toISOString().slice(0, 16)}Z`);
}

test.each([
  ['*/15 9-10 * * 1-5', ['2026-11-30T09:00Z', '2026-11-30T09:15Z', '2026-11-30T09:30Z']],
  ['0 0 1 * *', ['2026-12-01T00:00Z', '2027-01-01T00:00Z', '2027-02-01T00:00Z']],
  ['0 12 * * 7', ['2026-11-29T12:00Z', '2026-12-06T12:00Z', '2026-12-13T12:00Z']],
  ['30 6 13 * FRI', ['2026-12-04T06:30Z', '2026-12-11T06:30Z', '2026-12-13T06:30Z']],
  ['0 0 */2 * 1', ['2026-12-07T00:00Z', '2026-12-21T00:00Z', '2027-01-11T00:00Z']],
  ['0 8 L * *', ['2026-11-30T08:00Z', '2026-12-31T08:00Z', '2027-01-31T08:00Z']],
  ['0 8 * * 2#2', ['2026-12-08T08:00Z', '2027-01-12T08:00Z', '2027-02-09T08:00Z']],
  ['0 8 * * FRIL', ['2026-12-25T08:00Z', '2027-01-29T08:00Z', '2027-02-26T08:00Z']],
  ['0 0 29 2 *', ['2028-02-29T00:00Z', '2032-02-29T00:00Z', '2036-02-29T00:00Z']],
  ['@weekly', ['2026-11-29T00:00Z', '2026-12-06T00:00Z', '2026-12-13T00:00Z']],
])('%s strikes at the instants that crontab means', (text, instants) => {
  expect(fires(cron(text), '2026-11-28T10:00:00Z', 3)).toEqual(instants);
});

test.each([
  ['0 0 * * * *', 10],
  ['* * * *', 7],
  ['60 * * * *', 0],
  ['* 24 * * *', 2],
  ['* * ? * *', 4],
  ['* * 15W * *', 4],
  ['H * * * *', 0],
  ['5-1 * * * *', 0],
  ['*/0 * * * *', 2],
  ['5/10 * * * *', 0],
  ['1,,2 * * * *', 2],
  ['* * L * 1', 8],
  ['* * 3 * 5L', 4],
  ['* * * * 5#6', 10],
  ['* * * FOO *', 6],
  ['@reboot', 0],
])('%s is refused, and where is told', (text, position) => {
  expect(() => parseCron(text)).toThrow(CronError);
  try {
    parseCron(text);
  } catch (error) {
    expect((error as CronError).position).toBe(position);
  }
});

test('a wall time that is missing is shifted behind the gap once, or skipped', () => {
  const at = '2026-03-07T12:00:00Z';
  expect(fires(cron('30 2 * * *', 'America/New_York'), at, 2)).toEqual(['2026-03-08T07:00Z', '2026-03-09T06:30Z']);
  expect(fires(cron('30 2 * * *', 'America/New_York', { gap: 'skip' }), at, 2)).toEqual(['2026-03-09T06:30Z', '2026-03-10T06:30Z']);
  // However many fall into it, and although its end is itself due.
  expect(fires(cron('*/10 2,3 8 3 *', 'America/New_York'), at, 3)).toEqual(['2026-03-08T07:00Z', '2026-03-08T07:10Z', '2026-03-08T07:20Z']);
  const [shifted] = strikesAfter(cron('30 2 * * *', 'America/New_York'), { after: Date.parse(at), count: 1 });
  expect(shifted).toMatchObject({ note: 'shifted', shiftedFrom: '2026-03-08T02:30:00', localTime: '2026-03-08T03:00:00-04:00' });
});

test('a wall time that comes twice counts once, or twice; every hour runs on real time', () => {
  const at = '2026-10-31T12:00:00Z';
  expect(fires(cron('30 1 * * *', 'America/New_York'), at, 2)).toEqual(['2026-11-01T05:30Z']);
  expect(fires(cron('30 1 * * *', 'America/New_York', { repeat: 'twice' }), at, 2)).toEqual(['2026-11-01T05:30Z', '2026-11-01T06:30Z']);
  const second = strikeAt(cron('30 1 * * *', 'America/New_York'), Date.parse('2026-11-01T06:30:00Z'));
  expect(second).toMatchObject({ isSkipped: true, note: 'second_of_two' });
  expect(fires(cron('*/30 * * * *', 'America/New_York'), '2026-11-01T05:00:00Z', 4)).toEqual([
    '2026-11-01T05:30Z',
    '2026-11-01T06:00Z',
    '2026-11-01T06:30Z',
    '2026-11-01T07:00Z',
  ]);
});

test('gaps of half an hour and of a whole day', () => {
  expect(fires(cron('15 2 * * *', 'Australia/Lord_Howe'), '2026-10-03T00:00:00Z', 1)).toEqual(['2026-10-03T15:30Z']);
  expect(fires(cron('0 9 * * *', 'Pacific/Apia'), '2011-12-29T00:00:00Z', 3)).toEqual([
    '2011-12-29T19:00Z',
    '2011-12-30T10:00Z',
    '2011-12-30T19:00Z',
  ]);
  expect(fires(cron('0 8 * * 0', 'America/Chicago'), '2026-03-07T20:00:00Z', 1)).toEqual(['2026-03-08T13:00Z']);
  expect(fires(cron('0 8 * * *', 'Asia/Kathmandu'), '2026-03-07T20:00:00Z', 1)).toEqual(['2026-03-08T02:15Z']);
});

test('an interval counts from its beginning; a beginning and an end bound every cadence', () => {
  const from = Date.parse('2026-11-28T10:00:00Z');
  const every: Timetable = { cadence: { kind: 'every', seconds: 5_400, from }, zone: 'UTC', dst: usual, startsAt: null, endsAt: null };
  const once: Timetable = { ...every, cadence: { kind: 'once', at: from } };
  const bounded = { ...cron('0 * * * *'), startsAt: Date.parse('2026-11-28T12:00:00Z'), endsAt: Date.parse('2026-11-28T13:00:00Z') };

  expect(fires(every, '2026-11-28T09:00:00Z', 3)).toEqual(['2026-11-28T10:00Z', '2026-11-28T11:30Z', '2026-11-28T13:00Z']);
  expect(fires(every, '2026-11-28T11:30:00Z', 1)).toEqual(['2026-11-28T13:00Z']);
  expect(fires(once, '2026-11-28T09:00:00Z', 3)).toEqual(['2026-11-28T10:00Z']);
  expect(fires(once, '2026-11-28T10:00:00Z', 3)).toEqual([]);
  expect(fires(bounded, '2026-11-28T09:00:00Z', 5)).toEqual(['2026-11-28T12:00Z', '2026-11-28T13:00Z']);
  expect(strikeAt(every, from + 1_000)).toBeNull();
});

test('compiled: either day in two calendars, ends of months by their lengths, gaps as instants', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(compileTimetable(cron('0 6 13 * 5'), now).calendars).toHaveLength(2);
  expect(compileTimetable(cron('0 6 L * *'), now).calendars.map(({ dayOfMonth }) => dayOfMonth[0]?.start)).toEqual([31, 30, 28, 29]);
  expect(compileTimetable(cron('0 6 * 1,2 5L'), now).calendars.map(({ dayOfMonth }) => dayOfMonth[0])).toEqual([
    { start: 25, end: 31, step: 1 },
    { start: 22, end: 28, step: 1 },
    { start: 23, end: 29, step: 1 },
  ]);
  expect(compileTimetable(cron('*/20 9-17 * * *'), now).calendars[0]).toMatchObject({
    minute: [{ start: 0, end: 40, step: 20 }],
    hour: [{ start: 9, end: 17, step: 1 }],
  });
  const { instants } = compileTimetable(cron('30 2 * * *', 'America/New_York'), now);
  expect(instants.map((at) => new Date(at).toISOString())).toEqual(['2026-03-08T07:00:00.000Z']);
});

test('compiled: what is due around a night that repeats an hour east of Greenwich is struck without the zone', () => {
  const now = Date.parse('2026-06-01T00:00:00Z');
  const struck = ({ intervals }: ReturnType<typeof compileTimetable>) =>
    intervals.map(({ everySeconds, phaseSeconds }) => {
      const turn = Math.ceil((now / 1_000 - phaseSeconds) / everySeconds);
      return new Date((turn * everySeconds + phaseSeconds) * 1_000).toISOString();
    });

  expect(struck(compileTimetable(cron('30 2 * * *', 'Europe/Berlin'), now))).toEqual(['2026-10-25T00:30:00.000Z']);
  expect(struck(compileTimetable(cron('30 2 * * *', 'Europe/Berlin', { repeat: 'twice' }), now))).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-25T01:30:00.000Z',
  ]);
  expect(struck(compileTimetable(cron('* * * * *', 'Europe/Berlin'), now))).toHaveLength(181);
  expect(compileTimetable(cron('30 1 * * *', 'America/New_York'), now).intervals).toEqual([]);
});
