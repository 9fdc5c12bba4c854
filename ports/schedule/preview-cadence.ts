import { strikesAfter, type ScheduledInstant, type Timetable } from './cadence.ts';
import { localText, offsetAt } from './wall-time.ts';

/** A clock change that affects a cadence. */
export interface ClockWarning {
  readonly code: 'dst_gap' | 'dst_repeat';
  readonly at: number;
  readonly message: string;
}

/** The next instants of a timetable, and warnings about it. */
export interface CadencePreview {
  readonly instants: readonly ScheduledInstant[];
  readonly warnings: readonly ClockWarning[];
  /** Shortest time between two instants of the next 400 days, as far as they were checked; null: there are fewer than two. */
  readonly minGapSeconds: number | null;
}

const dayMs = 86_400_000;
const horizonMs = 400 * dayMs;
const instantsCompared = 500;
/** Maximum instants of a cadence around one clock change: each minute of several days. */
const instantsAround = 10_000;

/** Returns the next `count` instants after a given one that start a run, with warnings of clock changes within 400 days. */
export function previewCadence(timetable: Timetable, { after, count }: { readonly after: number; readonly count: number }): CadencePreview {
  return {
    instants: firing(timetable, { after, count, until: null }),
    warnings: clockWarnings(timetable, after),
    minGapSeconds: minGapOf(timetable, after),
  };
}

function firing(
  timetable: Timetable,
  { after, count, until }: { readonly after: number; readonly count: number; readonly until: number | null },
): ScheduledInstant[] {
  // One of the two instants of a repeated time may be skipped.
  const strikes = strikesAfter(timetable, { after, count: 2 * count, until });
  return strikes.filter(({ isSkipped }) => !isSkipped).slice(0, count);
}

function minGapOf(timetable: Timetable, after: number): number | null {
  if (timetable.cadence.kind === 'once') return null;
  const strikes = firing(timetable, { after, count: instantsCompared, until: after + horizonMs });
  const gaps = strikes.slice(1).map(({ at }, index) => at - (strikes[index]?.at ?? at));
  return gaps.length === 0 ? null : Math.min(...gaps) / 1_000;
}

function clockWarnings(timetable: Timetable, after: number): ClockWarning[] {
  const { cadence, zone, dst } = timetable;
  if (cadence.kind !== 'cron' || cadence.spec.isEveryHour) return [];
  // What the cadence would meet if nothing were skipped.
  const open: Timetable = { ...timetable, dst: { gap: 'shift', repeat: 'twice' } };
  return changedDays(zone, after).flatMap((day) => {
    const strikes = strikesAfter(open, { after: day, until: day + 2 * dayMs, count: instantsAround });
    const [shifted, second] = [strikes.find(({ note }) => note === 'shifted'), strikes.find(({ note }) => note === 'second_of_two')];
    return [
      ...(shifted ? [{ code: 'dst_gap' as const, at: shifted.at, message: gapText(shifted, dst.gap) }] : []),
      ...(second ? [{ code: 'dst_repeat' as const, at: second.at, message: repeatText(zone, second, dst.repeat) }] : []),
    ];
  });
}

/** Returns starts of days, in steps from `after`, within which or soon after which the zone's clocks change; each change is in one of them. */
function changedDays(zone: string, after: number): number[] {
  const days: number[] = [];
  let before = offsetAt(zone, after);
  for (let day = after; day < after + horizonMs; day += dayMs) {
    const next = offsetAt(zone, day + dayMs);
    if (next !== before) days.push(day);
    before = next;
  }
  return days;
}

function gapText({ shiftedFrom, localTime }: ScheduledInstant, gap: 'shift' | 'skip'): string {
  const missing = `The clocks leap over ${shiftedFrom ?? ''}`;
  return gap === 'shift' ? `${missing}: it runs at ${localTime} instead.` : `${missing}: it does not run then.`;
}

function repeatText(zone: string, { at, localTime }: ScheduledInstant, repeat: 'once' | 'twice'): string {
  const time = localText(zone, at).slice(0, 19);
  return repeat === 'once'
    ? `The clocks show ${time} twice: it runs the first time only, not at ${localTime}.`
    : `The clocks show ${time} twice: it runs both times, the second at ${localTime}.`;
}
