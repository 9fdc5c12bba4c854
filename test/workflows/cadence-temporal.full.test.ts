import { msToTs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { strikesAfter, type Timetable } from '../../ports/schedule/cadence.ts';
import { compileTimetable } from '../../ports/schedule/compile-cadence.ts';
import { parseCron } from '../../ports/schedule/cron.ts';
import { planSchedule } from '../../ports/schedule/plan.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { newId } from '../../db/ids.ts';
import { removeTriggerSchedule, upsertTriggerSchedule } from '../../temporal/trigger-schedules.ts';
import { isWholeMatrix, oneOfEach } from '../chaos/whole.ts';
import { testNamespace, type TestNamespace } from '../support/temporal.ts';

let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});
afterAll(() => place.close());

const zones = ['America/New_York', 'Europe/London', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia', 'UTC'];

/** A generator of its own, so that a failure can be run again: mulberry32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

function randomCron(random: (below: number) => number): string {
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T; // never empty
  const minute = pick(['0', '30', `${random(60)}`, '*/15', `${random(30)}-${30 + random(30)}/7`, '5,35']);
  const hour = pick(['*', `${random(24)}`, '*/6', '1-3', `${random(12)},${12 + random(12)}`]);
  const [day, weekday] = pick([
    ['*', '*'],
    [`${1 + random(28)}`, '*'],
    ['*', `${random(8)}`],
    [`${1 + random(28)}`, `${random(7)}`],
    ['L', '*'],
    ['*', `${random(7)}#${1 + random(4)}`],
    ['*', `${random(7)}L`],
    ['*/3', '1-5'],
  ]);
  const month = pick(['*', '*', '*', `${1 + random(12)}`, '*/4']);
  return `${minute} ${hour} ${day} ${month} ${weekday}`;
}

function rowOf(timetable: Timetable): ScheduleRow {
  // What the upsert reads of it.
  return {
    id: newId(),
    organizationId: newId(),
    workspaceId: newId(),
    compiled: compileTimetable(timetable, Date.now()),
    jitterSeconds: 0,
    catchUpSeconds: 600,
    isActive: true,
  } as unknown as ScheduleRow;
}

const specs = isWholeMatrix ? 500 : 120;

test(`${specs} random specs in six zones strike where Temporal does, what only clock changes make different aside`, async () => {
  const random = randomFrom(20_261_128);
  const differing: string[] = [];
  for (let at = 0; at < specs; at++) {
    const [text, zone] = [randomCron(random), zones[at % zones.length] ?? 'UTC'];
    const timetable: Timetable = {
      cadence: { kind: 'cron', spec: parseCron(text) },
      zone,
      dst: { gap: 'skip', repeat: 'twice' },
      startsAt: null,
      endsAt: null,
    };
    const theirs = await instantsOfTemporal(timetable);
    const first = theirs[0] ?? 0;
    const ours = strikesAfter(timetable, { after: first - 1, count: theirs.length }).map((strike) => strike.at);
    if (theirs.length === 0 || !isSame(ours, theirs)) differing.push(`${text} ${zone}: ${iso(ours)} ≠ ${iso(theirs)}`);
  }

  expect(differing).toEqual([]);
});

test('a shifted instant and a single one are struck by Temporal too', async () => {
  const next = nextGapOfNewYork();
  const timetable: Timetable = {
    cadence: { kind: 'cron', spec: parseCron(`30 2 ${next.day} ${next.month} *`) },
    zone: 'America/New_York',
    dst: { gap: 'shift', repeat: 'once' },
    startsAt: null,
    endsAt: null,
  };
  const [ours] = strikesAfter(timetable, { after: Date.now(), count: 1 });
  const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 3_600_000);
  const once = planSchedule(
    {
      cron: null,
      everySeconds: null,
      runAt: at,
      timezone: 'Asia/Kathmandu',
      dst: timetable.dst,
      startsAt: null,
      endsAt: null,
      createdAt: at,
    },
    new Date(),
  );

  expect(ours?.note).toBe('shifted');
  expect(await instantsOfTemporal(timetable)).toContain(ours?.at);
  expect(await instantsOfTemporal(once.timetable)).toEqual([at.getTime()]);
});

const zonesThatChange = [
  'America/New_York',
  'Europe/London',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Atlantic/Azores',
  'America/St_Johns',
  'Antarctica/Troll',
];
const rules = [
  ['shift', 'once'],
  ['skip', 'twice'],
] as const;
const nights = oneOfEach(
  zonesThatChange.flatMap((zone) => rules.map(([gap, repeat]) => [zone, gap, repeat] as const)),
  ([zone]) => zone,
);

test.each(nights)(
  'every minute of the nights in which clocks change in %s (%s, %s) is struck by Temporal, and fires as the rules say',
  async (zone, gap, repeat) => {
    for (const change of changesOf(zone)) {
      for (const text of ['* * * * *', '* 0-4 * * *', '30 1 * * *', '0,30 2 * * *']) {
        const timetable: Timetable = {
          cadence: { kind: 'cron', spec: parseCron(text) },
          zone,
          dst: { gap, repeat },
          startsAt: null,
          endsAt: null,
        };
        const [from, to] = [change.at - 6 * hourMs, change.at + 6 * hourMs];
        const strikes = strikesAfter(timetable, { after: from - 1, until: to, count: 1_000 });
        const due = strikes.filter(({ isSkipped }) => !isSkipped).map(({ at }) => at);
        const theirs = new Set(await strikesOfTemporal(timetable, { from, to }));

        expect({ zone, text, at: iso([change.at]), lost: due.filter((at) => !theirs.has(at)).map((at) => iso([at])) }).toMatchObject({
          lost: [],
        });
        if (text.startsWith('* ')) expect(due).toHaveLength(minutesOf(text, change, repeat));
      }
    }
  },
);

/** How many minutes fire in the twelve hours around a change, counted without the evaluator. Of `0-4`, what the night takes away or gives twice. */
function minutesOf(text: string, { minutes }: Change, repeat: 'once' | 'twice'): number {
  // Both ends count.
  if (text === '* * * * *') return 12 * 60 + 1;
  // A gap takes its minutes away: all that is shifted meets the minute that is due at its end. Those of a repeated stretch fire once or twice.
  const lost = minutes < 0 && repeat === 'once' ? 0 : minutes;
  return 5 * 60 - lost;
}

const hourMs = 3_600_000;

interface Change {
  /** The first instant of the new offset. */
  readonly at: number;
  /** How far the clocks leap ahead; below 0 they go back. */
  readonly minutes: number;
}

/** The changes of a zone within a year, to the minute. */
function changesOf(zone: string): Change[] {
  const offset = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const minutesAt = (at: number) => {
    const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(offset.format(at)) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  };
  const found: Change[] = [];
  const begin = Math.ceil(Date.now() / hourMs) * hourMs + 24 * hourMs;
  for (let at = begin; at < begin + 365 * 24 * hourMs; at += hourMs / 2) {
    const minutes = minutesAt(at) - minutesAt(at - hourMs / 2);
    if (minutes !== 0) found.push({ at, minutes });
  }
  return found;
}

/** All instants of a range, both ends included, at which the schedule that we make of a timetable strikes. */
async function strikesOfTemporal(timetable: Timetable, { from, to }: { readonly from: number; readonly to: number }): Promise<number[]> {
  const schedule = rowOf(timetable);
  const tenant = { organizationId: schedule.organizationId, workspaceId: schedule.workspaceId, correlationId: newId() };
  await upsertTriggerSchedule(place.temporal, schedule, tenant);
  try {
    const { startTime } = await place.temporal.connection.workflowService.listScheduleMatchingTimes({
      namespace: place.namespace,
      scheduleId: `trigger:${schedule.id}`,
      startTime: msToTs(from - 1_000),
      endTime: msToTs(to),
    });
    return startTime.map(({ seconds }) => Number(seconds) * 1_000);
  } finally {
    await removeTriggerSchedule(place.temporal, schedule.id);
  }
}

async function instantsOfTemporal(timetable: Timetable): Promise<number[]> {
  const schedule = rowOf(timetable);
  const tenant = { organizationId: schedule.organizationId, workspaceId: schedule.workspaceId, correlationId: newId() };
  await upsertTriggerSchedule(place.temporal, schedule, tenant);
  try {
    const { info } = await place.temporal.client.schedule.getHandle(`trigger:${schedule.id}`).describe();
    return info.nextActionTimes.map((time) => time.getTime());
  } finally {
    await removeTriggerSchedule(place.temporal, schedule.id);
  }
}

/** Second Sunday of the next March. */
function nextGapOfNewYork(): { day: number; month: number } {
  const now = new Date();
  const year = now.getUTCMonth() < 2 ? now.getUTCFullYear() : now.getUTCFullYear() + 1;
  const weekday = new Date(Date.UTC(year, 2, 1)).getUTCDay();
  return { day: 8 + ((7 - weekday) % 7), month: 3 };
}

function isSame(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((value, at) => value === right[at]);
}

function iso(instants: readonly number[]): string {
  return instants
    .slice(0, 3)
    .map((at) => new Date(at).toISOString())
    .join(' ');
}
