import { isRestricted, strikesAfter, type Timetable } from './cadence.ts';
import type { CronSpec, DayRule } from './cron.ts';
import { changesBetween, type ClockChange } from './wall-time.ts';

/** Values from `start` to `end`, every `step`. */
export interface FieldRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** A structured calendar in Temporal's form, by numbers: months 1–12, weekdays 0 (Sunday) to 6. Years absent: every year. */
export interface CompiledCalendar {
  readonly minute: readonly FieldRange[];
  readonly hour: readonly FieldRange[];
  readonly dayOfMonth: readonly FieldRange[];
  readonly month: readonly FieldRange[];
  readonly dayOfWeek: readonly FieldRange[];
  readonly year?: readonly FieldRange[];
}

/** What a clock service needs to fire at least at every instant of a timetable; extra ones are dropped when they fire. */
export interface CompiledTimetable {
  readonly zone: string;
  readonly calendars: readonly CompiledCalendar[];
  readonly intervals: readonly { readonly everySeconds: number; readonly phaseSeconds: number }[];
  /** Single instants (UTC): shifted ones, and the only one of `run_at`. */
  readonly instants: readonly number[];
  readonly startsAt: number | null;
  readonly endsAt: number | null;
  /** When it was compiled: clock changes are known for 400 days from then. */
  readonly compiledAt: number;
}

const lastYear = 2_100;
const dayMs = 86_400_000;
const horizonMs = 400 * dayMs;
/** An interval that fires only once within the horizon. */
const onceSeconds = (500 * dayMs) / 1_000;
/** Every minute of three repeated periods of at most two hours. */
const maxAround = 500;
const anyDay: readonly FieldRange[] = [{ start: 1, end: 31, step: 1 }];
const anyWeekday: readonly FieldRange[] = [{ start: 0, end: 6, step: 1 }];
const longMonths = [1, 3, 5, 7, 8, 10, 12];
const shortMonths = [4, 6, 9, 11];

/** Compiles a timetable; the effects of clock changes in the 400 days after `now` become single instants. */
export function compileTimetable(timetable: Timetable, now: number): CompiledTimetable {
  const { cadence, zone, startsAt, endsAt } = timetable;
  const common = { compiledAt: now, zone, startsAt, endsAt, calendars: [], intervals: [], instants: [] };
  switch (cadence.kind) {
    case 'once':
      return { ...common, instants: [cadence.at] };
    case 'every': {
      const everySeconds = cadence.seconds;
      const phaseSeconds = Math.floor(cadence.from / 1_000) % everySeconds;
      return { ...common, startsAt: Math.max(startsAt ?? cadence.from, cadence.from), intervals: [{ everySeconds, phaseSeconds }] };
    }
    case 'cron': {
      const changes = changesBetween(zone, now - dayMs, now + horizonMs);
      return {
        ...common,
        calendars: calendarsOf(cadence.spec),
        intervals: repeatedInstants(timetable, changes),
        instants: shiftedInstants(timetable, changes),
      };
    }
    default:
      return cadence satisfies never;
  }
}

/** Returns the ends of gaps at which a shifted time fires and no other is due. */
function shiftedInstants(timetable: Timetable, changes: readonly ClockChange[]): number[] {
  const { cadence, dst } = timetable;
  if (cadence.kind !== 'cron' || cadence.spec.isEveryHour || dst.gap === 'skip') return [];
  return changes
    .flatMap(({ at }) => strikesAfter(timetable, { after: at - 1, until: at, count: 1 }))
    .filter(({ note }) => note === 'shifted')
    .map(({ at }) => at);
}

/**
 * East of Greenwich Temporal fires only at the second of two equal wall times, or at neither, and then misses instants for as long again. All instants around
 * such a night are therefore given without a zone: as intervals that are longer than the horizon.
 */
function repeatedInstants(timetable: Timetable, changes: readonly ClockChange[]): CompiledTimetable['intervals'] {
  return changes
    .filter(({ before, after }) => after < before && before >= 0)
    .flatMap(({ at, before, after }) => {
      const repeatMs = before - after;
      return strikesAfter(timetable, { after: at - repeatMs - 1, until: at + 2 * repeatMs, count: maxAround });
    })
    .filter(({ isSkipped }) => !isSkipped)
    .map(({ at }) => ({ everySeconds: onceSeconds, phaseSeconds: Math.floor(at / 1_000) % onceSeconds }));
}

function calendarsOf(spec: CronSpec): CompiledCalendar[] {
  const { dayOfMonth, dayOfWeek } = spec;
  // Either one suffices: a calendar for each.
  if (dayOfMonth.kind === 'days' && dayOfWeek.kind === 'days' && isRestricted(dayOfMonth) && isRestricted(dayOfWeek))
    return [calendar(spec, { dayOfMonth: rangesOf(dayOfMonth.days) }), calendar(spec, { dayOfWeek: rangesOf(dayOfWeek.days) })];

  const special = dayOfMonth.kind === 'days' ? dayOfWeek : dayOfMonth;
  if (special.kind === 'days') return [calendar(spec, { dayOfMonth: daysOf(dayOfMonth), dayOfWeek: daysOf(dayOfWeek) })];
  if (special.kind === 'nth_weekday') {
    const days = [{ start: special.turn * 7 - 6, end: Math.min(special.turn * 7, 31), step: 1 }];
    return [calendar(spec, { dayOfMonth: days, dayOfWeek: rangesOf([special.weekday]) })];
  }
  return endsOfMonths(spec, special);
}

/** Returns calendars for the last day or weekday: months of 31 and 30 days, February of common and of leap years, up to Temporal's last year. */
function endsOfMonths(spec: CronSpec, rule: Extract<DayRule, { kind: 'last_day' | 'last_weekday' }>): CompiledCalendar[] {
  const years = Array.from({ length: lastYear - 2_000 + 1 }, (_, at) => 2_000 + at);
  const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const kinds = [
    { months: longMonths, length: 31 },
    { months: shortMonths, length: 30 },
    { months: [2], length: 28, year: rangesOf(years.filter((year) => !isLeap(year))) },
    { months: [2], length: 29, year: rangesOf(years.filter(isLeap)) },
  ];
  return kinds.flatMap(({ months, length, year }) => {
    const named = months.filter((month) => spec.months.includes(month));
    if (named.length === 0) return [];
    const start = rule.kind === 'last_day' ? length : length - 6;
    return [
      calendar(spec, {
        month: rangesOf(named),
        dayOfMonth: [{ start, end: length, step: 1 }],
        ...(rule.kind === 'last_weekday' ? { dayOfWeek: rangesOf([rule.weekday]) } : {}),
        ...(year ? { year } : {}),
      }),
    ];
  });
}

function calendar(spec: CronSpec, more: Partial<CompiledCalendar>): CompiledCalendar {
  return {
    minute: rangesOf(spec.minutes),
    hour: rangesOf(spec.hours),
    dayOfMonth: anyDay,
    month: rangesOf(spec.months),
    dayOfWeek: anyWeekday,
    ...more,
  };
}

function daysOf(rule: DayRule): FieldRange[] {
  return rule.kind === 'days' ? rangesOf(rule.days) : [];
}

/** Compresses sorted values to ranges: runs with one step become one range. */
export function rangesOf(values: readonly number[]): FieldRange[] {
  const ranges: { start: number; end: number; step: number }[] = [];
  for (const value of values) {
    const last = ranges.at(-1);
    if (last && (last.start === last.end || value - last.end === last.step)) {
      if (last.start === last.end) last.step = value - last.end;
      last.end = value;
    } else ranges.push({ start: value, end: value, step: 1 });
  }
  return ranges;
}
