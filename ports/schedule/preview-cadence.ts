import { strikesAfter, type ScheduledInstant, type Timetable } from './cadence.ts';
import { localText, offsetAt } from './wall-time.ts';

/** A change of the clocks that a cadence falls into. */
export interface ClockWarning {
  readonly code: 'dst_gap' | 'dst_repeat';
  readonly at: number;
  readonly message: string;
}

/** The next instants of a timetable, and what people should know of it. */
export interface CadencePreview {
  readonly instants: readonly ScheduledInstant[];
  readonly warnings: readonly ClockWarning[];
  /** Shortest time between two instants of the next 400 days, as far as they were looked at; null: there are not two. */
  readonly minGapSeconds: number | null;
}

const dayMs = 86_400_000;
const horizonMs = 400 * dayMs;
const instantsCompared = 500;
/** The most that a cadence gives around one change of the clocks: each minute of some days. */
const instantsAround = 10_000;

/** The next `count` instants after one that start a run, with warnings of clock changes within 400 days. */
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
  // Of two at a repeated time one may be skipped.
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
  // What the cadence would meet if nothing were left out.
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

/** Begins of days, in steps from `after`, within which or soon after which the zone's clocks change; a change is in one of them. */
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
