import { isRestricted, type Timetable } from './cadence.ts';
import type { CronSpec, DayRule } from './cron.ts';
import { localText } from './wall-time.ts';

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const turns = ['first', 'second', 'third', 'fourth', 'fifth'];
const maxTimes = 6;

/** Describes a timetable in plain words: `at 08:00 on Monday and Friday (Europe/Berlin)`. */
export function describeCadence({ cadence, zone }: Timetable): string {
  switch (cadence.kind) {
    case 'once':
      return `once, at ${localText(zone, cadence.at)}`;
    case 'every':
      return `every ${spanOf(cadence.seconds)}`;
    case 'cron':
      return `${timesOf(cadence.spec)}${daysOf(cadence.spec)}${monthsOf(cadence.spec)} (${zone})`;
    default:
      return cadence satisfies never;
  }
}

function spanOf(seconds: number): string {
  for (const [size, name] of [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const) {
    if (seconds % size === 0) return seconds === size ? name : `${seconds / size} ${name}s`;
  }
  return `${seconds} seconds`;
}

function timesOf({ minutes, hours, isEveryHour }: CronSpec): string {
  const minuteText = minutes.length === 60 ? 'every minute' : `at minute ${listed(minutes.map(String))}`;
  if (isEveryHour) return minuteText === 'every minute' ? minuteText : `${minuteText} of every hour`;
  if (minutes.length * hours.length <= maxTimes) {
    const times = hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`));
    return `at ${listed(times)}`;
  }
  return `${minuteText} of ${hours.length === 1 ? 'hour' : 'hours'} ${listed(hours.map(String))}`;
}

function daysOf({ dayOfMonth, dayOfWeek }: CronSpec): string {
  const parts = [dayOfMonth, dayOfWeek].filter((rule) => isRestricted(rule) || isPartial(rule));
  if (parts.length === 0) return ' every day';
  const texts = parts.map((rule) => dayText(rule, rule === dayOfMonth));
  const joint = isRestricted(dayOfMonth) && isRestricted(dayOfWeek) ? ' or ' : ' if ';
  return ` on ${texts.join(joint)}`;
}

/** `*\/2` is written with a star and still names only some days. */
function isPartial(rule: DayRule): boolean {
  return rule.kind === 'days' && rule.days.length < 7;
}

function dayText(rule: DayRule, isOfMonth: boolean): string {
  switch (rule.kind) {
    case 'last_day':
      return 'the last day of the month';
    case 'last_weekday':
      return `the last ${weekdays[rule.weekday] ?? ''} of the month`;
    case 'nth_weekday':
      return `the ${turns[rule.turn - 1] ?? ''} ${weekdays[rule.weekday] ?? ''} of the month`;
    case 'days':
      return isOfMonth ? `day ${listed(rule.days.map(String))}` : listed(rule.days.map((day) => weekdays[day] ?? ''));
    default:
      return rule satisfies never;
  }
}

function monthsOf(spec: CronSpec): string {
  return spec.months.length === 12 ? '' : ` in ${listed(spec.months.map((month) => months[month - 1] ?? ''))}`;
}

function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? '';
  return items.length <= 1 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
