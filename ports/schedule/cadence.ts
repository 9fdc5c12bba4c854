import type { CronSpec, DayRule } from './cron.ts';
import { endOfGap, instantsOf, localText, offsetAt, offsetText, wallAt, wallText } from './wall-time.ts';

/** When a schedule fires. Instants are milliseconds since 1970. */
export type Recurrence =
  | { readonly kind: 'cron'; readonly spec: CronSpec }
  /** At a fixed interval from a start. */
  | { readonly kind: 'every'; readonly seconds: number; readonly from: number }
  | { readonly kind: 'once'; readonly at: number };

/** How wall times that are skipped or repeated by a clock change are handled; only where the hour field is not `*`. */
export interface DstRules {
  readonly gap: 'shift' | 'skip';
  readonly repeat: 'once' | 'twice';
}

export interface Timetable {
  readonly cadence: Recurrence;
  readonly zone: string;
  readonly dst: DstRules;
  readonly startsAt: number | null;
  readonly endsAt: number | null;
}

/** One instant of a timetable. */
export interface ScheduledInstant {
  readonly at: number;
  /** Local time with offset. */
  readonly localTime: string;
  /** The intended wall time, when the clocks skipped it. */
  readonly shiftedFrom: string | null;
  readonly note: 'shifted' | 'first_of_two' | 'second_of_two' | null;
  /** The second of a repeated wall time, which does not fire. */
  readonly isSkipped: boolean;
}

const dayMs = 86_400_000;
/** The longest pause of a cron expression: 29 February over a century that is no leap year, with a margin. */
const maxPauseMs = 366 * 9 * dayMs;

/** Returns instants after a given one, in order, at most `count` and none after `until`. Skipped ones (`isSkipped`) are included and counted. */
export function strikesAfter(
  timetable: Timetable,
  { after, count, until = null }: { readonly after: number; readonly count: number; readonly until?: number | null },
): ScheduledInstant[] {
  const { cadence, startsAt, endsAt } = timetable;
  const first = startsAt === null ? after : Math.max(after, startsAt - 1);
  const last = Math.min(until ?? Infinity, endsAt ?? Infinity);
  switch (cadence.kind) {
    case 'once':
      return cadence.at > first && cadence.at <= last && count > 0 ? [plain(timetable, cadence.at)] : [];
    case 'every':
      return everyAfter(timetable, cadence, { first, last, count });
    case 'cron':
      return cronAfter(timetable, cadence.spec, { first, last, count });
    default:
      return cadence satisfies never;
  }
}

/** Returns the timetable's entry for one instant; null when the instant is not part of it. */
export function strikeAt(timetable: Timetable, at: number): ScheduledInstant | null {
  const [strike] = strikesAfter(timetable, { after: at - 1, count: 1, until: at });
  return strike?.at === at ? strike : null;
}

/** Counts the instants of a timetable from one to another, both included; skipped ones are not counted. */
export function countStrikes(timetable: Timetable, { from, to }: { readonly from: number; readonly to: number }): number {
  const { cadence, startsAt, endsAt } = timetable;
  const first = Math.max(from, startsAt ?? from) - 1;
  const last = Math.min(to, endsAt ?? to);
  switch (cadence.kind) {
    case 'once':
      return cadence.at > first && cadence.at <= last ? 1 : 0;
    case 'every': {
      const step = cadence.seconds * 1_000;
      const upTo = (at: number) => Math.floor((at - cadence.from) / step);
      return Math.max(0, upTo(last) - Math.max(-1, upTo(first)));
    }
    case 'cron':
      return countCron(timetable, cadence.spec, { first, last });
    default:
      return cadence satisfies never;
  }
}

function countCron(timetable: Timetable, spec: CronSpec, { first, last }: Omit<Window, 'count'>): number {
  const { zone } = timetable;
  let total = 0;
  let seen = first;
  const start = Math.floor(wallAt(zone, first) / dayMs) * dayMs - dayMs;
  for (let midnight = start; midnight - 2 * dayMs <= last; midnight += dayMs) {
    if (!isDay(spec, new Date(midnight))) continue;
    const offset = steadyOffset(zone, midnight);
    const edges = offset === null ? null : edgesOfDay(spec, midnight - offset);
    if (edges !== null && edges.begin > seen && edges.end <= last) {
      total += spec.hours.length * spec.minutes.length;
      seen = edges.end;
      continue;
    }
    for (const { at, isSkipped } of strikesOfDay(timetable, spec, midnight, { first: seen, last })) {
      if (at <= seen || at > last) continue;
      seen = at;
      if (!isSkipped) total += 1;
    }
  }
  return total;
}

/** Returns the first and the last instant of a day without a clock change. */
function edgesOfDay({ hours, minutes }: CronSpec, midnight: number): { readonly begin: number; readonly end: number } {
  const at = (hour = 0, minute = 0) => midnight + (hour * 60 + minute) * 60_000;
  return { begin: at(hours[0], minutes[0]), end: at(hours.at(-1), minutes.at(-1)) };
}

interface Window {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

function everyAfter(
  timetable: Timetable,
  cadence: Extract<Recurrence, { kind: 'every' }>,
  { first, last, count }: Window,
): ScheduledInstant[] {
  const step = cadence.seconds * 1_000;
  const turn = Math.max(0, Math.floor((first - cadence.from) / step) + 1);
  const strikes: ScheduledInstant[] = [];
  for (let at = cadence.from + turn * step; at <= last && strikes.length < count; at += step) strikes.push(plain(timetable, at));
  return strikes;
}

function cronAfter(timetable: Timetable, spec: CronSpec, { first, last, count }: Window): ScheduledInstant[] {
  const { zone } = timetable;
  const strikes: ScheduledInstant[] = [];
  // A day earlier, in case clocks have gone back over midnight.
  const start = Math.floor(wallAt(zone, first) / dayMs) * dayMs - dayMs;
  let seen = -Infinity;
  for (let midnight = start; strikes.length < count && midnight - 2 * dayMs <= last; midnight += dayMs) {
    if (midnight - Math.max(first, seen) > maxPauseMs) break;
    if (!isDay(spec, new Date(midnight))) continue;
    for (const strike of strikesOfDay(timetable, spec, midnight, { first, last })) {
      // Two times that fall into one gap, or onto its end, are one instant.
      if (strike.at <= first || strike.at <= seen) continue;
      if (strike.at > last || strikes.length === count) break;
      seen = strike.at;
      strikes.push(strike);
    }
  }
  return strikes;
}

/** Returns the instants of one local day in order; the first of equal ones counts, so a regular time precedes one that is shifted onto it. */
function strikesOfDay(timetable: Timetable, spec: CronSpec, midnight: number, window: Omit<Window, 'count'>): ScheduledInstant[] {
  const { zone } = timetable;
  const walls = wallsWithin(zone, wallsOfDay(spec, midnight), { ...window, midnight });
  const offset = steadyOffset(zone, midnight);
  if (offset !== null)
    return walls.map((wall) => ({
      at: wall - offset,
      localTime: wallText(wall) + offsetText(offset),
      shiftedFrom: null,
      note: null,
      isSkipped: false,
    }));
  const strikes = walls.flatMap((wall) => strikesOfWall(timetable, spec, wall));
  return strikes.toSorted((left, right) => left.at - right.at || Number(left.note === 'shifted') - Number(right.note === 'shifted'));
}

function wallsOfDay({ hours, minutes }: CronSpec, midnight: number): number[] {
  return hours.flatMap((hour) => minutes.map((minute) => midnight + (hour * 60 + minute) * 60_000));
}

/** Returns the wall times of a day that can be instants after `first` and up to `last`: each of the others would cost needless time zone lookups. */
function wallsWithin(
  zone: string,
  walls: readonly number[],
  { first, last, midnight }: Omit<Window, 'count'> & { readonly midnight: number },
): number[] {
  const offsets = [-1, 1, 2].map((days) => offsetAt(zone, midnight + days * dayMs));
  const [lowest, highest] = [Math.min(...offsets), Math.max(...offsets)];
  return walls.filter((wall) => wall - lowest > first && wall - highest <= last);
}

/** Returns the zone's offset around a day without a clock change; null when there may be one. */
function steadyOffset(zone: string, midnight: number): number | null {
  const offset = offsetAt(zone, midnight - dayMs);
  return offset === offsetAt(zone, midnight + dayMs) && offset === offsetAt(zone, midnight + 2 * dayMs) ? offset : null;
}

function strikesOfWall({ zone, dst }: Timetable, spec: CronSpec, wall: number): ScheduledInstant[] {
  const instants = instantsOf(zone, wall);
  const strike = (at: number, rest: Partial<ScheduledInstant>): ScheduledInstant => ({
    at,
    localTime: localText(zone, at),
    shiftedFrom: null,
    note: null,
    isSkipped: false,
    ...rest,
  });
  const [only, second] = instants;
  if (only === undefined) {
    if (spec.isEveryHour || dst.gap === 'skip') return [];
    return [strike(endOfGap(zone, wall), { note: 'shifted', shiftedFrom: wallText(wall) })];
  }
  if (second === undefined) return [strike(only, {})];
  if (spec.isEveryHour) return [strike(only, {}), strike(second, {})];
  return [strike(only, { note: 'first_of_two' }), strike(second, { note: 'second_of_two', isSkipped: dst.repeat === 'once' })];
}

function isDay(spec: CronSpec, day: Date): boolean {
  if (!spec.months.includes(day.getUTCMonth() + 1)) return false;
  const [byMonth, byWeek] = [isDayBy(spec.dayOfMonth, day, day.getUTCDate()), isDayBy(spec.dayOfWeek, day, day.getUTCDay())];
  // crontab(5): when both are restricted, either one suffices.
  return isRestricted(spec.dayOfMonth) && isRestricted(spec.dayOfWeek) ? byMonth || byWeek : byMonth && byWeek;
}

/** Whether a day field restricts the days. */
export function isRestricted(rule: DayRule): boolean {
  return rule.kind !== 'days' || !rule.isStar;
}

function isDayBy(rule: DayRule, day: Date, number: number): boolean {
  const date = day.getUTCDate();
  const length = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
  switch (rule.kind) {
    case 'days':
      return rule.days.includes(number);
    case 'last_day':
      return date === length;
    case 'last_weekday':
      return day.getUTCDay() === rule.weekday && date > length - 7;
    case 'nth_weekday':
      return day.getUTCDay() === rule.weekday && Math.ceil(date / 7) === rule.turn;
    default:
      return rule satisfies never;
  }
}

function plain({ zone }: Timetable, at: number): ScheduledInstant {
  return { at, localTime: localText(zone, at), shiftedFrom: null, note: null, isSkipped: false };
}
