import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newGroup, reduce, type Emission, type GroupState, type RuleTimes, type Sample } from '../../domain/alerts/reducer.ts';

const start = Date.parse('2026-05-01T00:00:00Z');
const usual: RuleTimes = { forS: 0, keepFiringS: 0, repeatIntervalS: 3_600, noDataMode: 'ok' };
const critical: Sample = { kind: 'breach', level: 'critical' };
const warning: Sample = { kind: 'breach', level: 'warning' };
const fine: Sample = { kind: 'fine' };
const none: Sample = { kind: 'none' };

interface Tick {
  readonly sample: Sample;
  readonly isMuted?: boolean;
}

/** Plays ticks a minute apart; gives what each emitted, `-` for nothing, and the last state. */
function play(ticks: readonly (Sample | Tick)[], times: Partial<RuleTimes> = {}, first?: Partial<GroupState>) {
  let group: GroupState = { ...newGroup(new Date(start)), ...first };
  const told = ticks.map((tick, at) => {
    const { sample, isMuted = false } = 'sample' in tick ? tick : { sample: tick };
    const step = reduce(group, sample, { now: new Date(start + at * 60_000), times: { ...usual, ...times }, isMuted });
    group = step.next;
    return step.emits.map(nameOf).join('+') || '-';
  });
  return { told, group };
}

function nameOf(emission: Emission): string {
  if (emission.event === 'resolved') return 'resolved';
  return `${emission.event === 'firing' && emission.status === 'no_data' ? 'no_data' : emission.event}:${emission.level}`;
}

const minutes = <T>(count: number, tick: T): T[] => Array.from({ length: count }, () => tick);

test('a breach for hours is told when it begins, at each interval, and once when it ends; a cold start is silent', () => {
  const { told } = play([fine, fine, ...minutes(150, critical), ...minutes(5, fine)]);

  expect(told.flatMap((event, at) => (event === '-' ? [] : [[at, event]]))).toEqual([
    [2, 'firing:critical'],
    [62, 'repeated:critical'],
    [122, 'repeated:critical'],
    [152, 'resolved'],
  ]);
});

test('for_s: a breach that ends before is never told; keep_firing_s: a short recovery does not end it', () => {
  expect(play([critical, critical, fine, critical, critical, critical], { forS: 120 }).told).toEqual([
    '-',
    '-',
    '-',
    '-',
    '-',
    'firing:critical',
  ]);
  expect(play([critical, fine, critical, fine, fine, fine], { keepFiringS: 120 }).told).toEqual([
    'firing:critical',
    '-',
    '-',
    '-',
    '-',
    'resolved',
  ]);
});

test('it escalates once, snoozed or not, and severity never falls while it is open', () => {
  const { told, group } = play([warning, { sample: critical, isMuted: true }, warning, critical, ...minutes(58, warning)]);

  expect(told.filter((event) => event !== '-')).toEqual(['firing:warning', 'escalated:critical', 'repeated:critical']);
  expect(group.level).toBe('critical');
});

test('an alert that somebody has acknowledged or snoozed is not repeated', () => {
  expect(play([critical, ...minutes(200, { sample: critical, isMuted: true })]).told.filter((event) => event !== '-')).toEqual([
    'firing:critical',
  ]);
});

test('a missing value: ok is as fine, keep changes nothing, alert opens an alert of its own after for_s', () => {
  expect(play([critical, none]).told).toEqual(['firing:critical', 'resolved']);
  expect(play([critical, none, none, fine], { noDataMode: 'keep' }).told).toEqual(['firing:critical', '-', '-', 'resolved']);
  expect(play([fine, none, none, none, none, fine], { noDataMode: 'alert', forS: 120 }).told).toEqual([
    '-',
    '-',
    '-',
    'no_data:critical',
    '-',
    'resolved',
  ]);
  expect(play([critical, none, critical], { noDataMode: 'alert' }).told).toEqual([
    'firing:critical',
    'resolved+no_data:critical',
    'resolved+firing:critical',
  ]);
});

test('after a person has resolved it a lasting breach opens a new alert, and not before the interval', () => {
  const quietUntil = new Date(start + 3 * 60_000);

  expect(play(minutes(5, critical), {}, { state: 'ok', quietUntil }).told).toEqual(['-', '-', '-', 'firing:critical', '-']);
  // It was fine in between: the next breach is a new cause.
  expect(play([fine, critical], {}, { state: 'ok', quietUntil }).told).toEqual(['-', 'firing:critical']);
});

const sampleArb = fc.constantFrom(critical, warning, fine, none);
const timesArb = fc.record({
  forS: fc.constantFrom(0, 60, 180),
  keepFiringS: fc.constantFrom(0, 60, 180),
  repeatIntervalS: fc.constantFrom(300, 600),
  noDataMode: fc.constantFrom('ok' as const, 'keep' as const, 'alert' as const),
});
const ticksArb = fc.array(fc.record({ sample: sampleArb, isMuted: fc.boolean() }), { maxLength: 80 });

test('for random sequences it never fires twice without a resolved between, and resolves only what is open', () => {
  fc.assert(
    fc.property(ticksArb, timesArb, (ticks, times) => {
      let isOpen = false;
      for (const event of play(ticks, times).told.flatMap((events) => events.split('+'))) {
        if (/^(firing|no_data)/.test(event)) expect(isOpen).toBe(false);
        if (/^(resolved|repeated|escalated)/.test(event)) expect(isOpen).toBe(true);
        if (event !== '-') isOpen = event !== 'resolved';
      }
    }),
    { numRuns: 500 },
  );
});

test('for random sequences nothing but the end of an open alert is emitted while the value is fine, and repeats keep their distance', () => {
  fc.assert(
    fc.property(ticksArb, timesArb, (ticks, times) => {
      const { told } = play(ticks, times);
      let lastAt: number | null = null;
      for (const [at, event] of told.entries()) {
        if (ticks[at]?.sample.kind === 'fine') expect(['-', 'resolved']).toContain(event);
        if (event.startsWith('repeated')) {
          expect(ticks[at]?.isMuted).toBe(false);
          expect(lastAt !== null && (at - lastAt) * 60 >= times.repeatIntervalS).toBe(true);
        }
        if (event !== '-') lastAt = at;
      }
    }),
    { numRuns: 500 },
  );
});

test('for random sequences the severity of an open alert never falls, and an open alert has one', () => {
  fc.assert(
    fc.property(ticksArb, timesArb, (ticks, times) => {
      let group = newGroup(new Date(start));
      for (const [at, { sample, isMuted }] of ticks.entries()) {
        const { next, emits } = reduce(group, sample, { now: new Date(start + at * 60_000), times, isMuted });
        const stayedOpen = group.state === 'firing' && next.state === 'firing' && emits.every(({ event }) => event !== 'resolved');
        if (stayedOpen && group.level === 'critical') expect(next.level).toBe('critical');
        expect(next.level !== null).toBe(next.state === 'firing' || next.state === 'no_data');
        group = next;
      }
    }),
    { numRuns: 500 },
  );
});
