/** An error in an expression: where, and what. */
export class CronError extends Error {
  override readonly name = 'CronError';
  /** Index of the character in the expression, from 0. */
  readonly position: number;

  constructor(position: number, reason: string) {
    super(reason);
    this.position = position;
  }
}

/** Days of a month or week: all, some by number, or one counted from the end or by its ordinal. */
export type DayRule =
  /** `isStar`: written with `*`, so that the other day field alone decides (crontab(5)). */
  | { readonly kind: 'days'; readonly days: readonly number[]; readonly isStar: boolean }
  /** Last day of the month. */
  | { readonly kind: 'last_day' }
  /** Last such weekday of the month. */
  | { readonly kind: 'last_weekday'; readonly weekday: number }
  /** `turn` 1–5: the first to fifth such weekday of the month. */
  | { readonly kind: 'nth_weekday'; readonly weekday: number; readonly turn: number };

/** A parsed expression: sorted values, weekdays 0 (Sunday) to 6. */
export interface CronSpec {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** The hour field is `*`: it runs on elapsed time, regardless of clock changes. */
  readonly isEveryHour: boolean;
  readonly dayOfMonth: DayRule;
  readonly months: readonly number[];
  readonly dayOfWeek: DayRule;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

interface Part {
  readonly text: string;
  readonly position: number;
}

const minute: Field = { name: 'minute', min: 0, max: 59 };
const hour: Field = { name: 'hour', min: 0, max: 23 };
const dayOfMonth: Field = { name: 'day of month', min: 1, max: 31 };
const month: Field = {
  name: 'month',
  min: 1,
  max: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
const dayOfWeek: Field = { name: 'day of week', min: 0, max: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] };

const macros: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
};

const maxChars = 200;

/**
 * Parses an expression of five fields, with the meaning of crontab(5), or a macro; also `L`, `d#n` and `dL` where the other day field is `*`. Throws CronError
 * with position and reason.
 */
export function parseCron(text: string): CronSpec {
  if (text.length > maxChars) throw new CronError(maxChars, `at most ${maxChars} characters`);
  const trimmed = text.trim();
  if (trimmed.startsWith('@')) {
    const macro = macros[trimmed.toLowerCase()];
    if (macro === undefined) throw new CronError(text.indexOf('@'), `one of ${Object.keys(macros).join(', ')}`);
    return parseCron(macro);
  }
  const [minutes, hours, days, months, weekdays, sixth] = partsOf(text);
  if (!minutes || !hours || !days || !months || !weekdays) throw new CronError(text.length, 'five fields are required');
  if (sixth) throw new CronError(sixth.position, 'five fields are required: seconds and years are not supported');

  const spec: CronSpec = {
    minutes: valuesOf(minute, minutes),
    hours: valuesOf(hour, hours),
    isEveryHour: hours.text === '*',
    dayOfMonth: days.text.toUpperCase() === 'L' ? { kind: 'last_day' } : daysRule(dayOfMonth, days),
    months: valuesOf(month, months),
    dayOfWeek: weekdayRule(weekdays),
  };
  if (spec.dayOfMonth.kind !== 'days' && weekdays.text !== '*') throw new CronError(weekdays.position, 'L requires * as day of week');
  if (spec.dayOfWeek.kind !== 'days' && days.text !== '*') throw new CronError(days.position, 'L and # require * as day of month');
  return spec;
}

function partsOf(text: string): Part[] {
  return [...text.matchAll(/\S+/g)].map((match) => ({ text: match[0], position: match.index }));
}

function daysRule(field: Field, part: Part): DayRule {
  return { kind: 'days', days: valuesOf(field, part), isStar: part.text.startsWith('*') };
}

function weekdayRule(part: Part): DayRule {
  const special = /^([0-7]|[A-Za-z]{3})(?:#(\d+)|(L))$/i.exec(part.text);
  if (special) {
    const weekday = numberOf(dayOfWeek, { text: special[1] ?? '', position: part.position }) % 7;
    if (special[3] !== undefined) return { kind: 'last_weekday', weekday };
    const turn = Number(special[2]);
    if (turn < 1 || turn > 5) throw new CronError(part.position + part.text.indexOf('#') + 1, 'a weekday occurs 1 to 5 times a month');
    return { kind: 'nth_weekday', weekday, turn };
  }
  const rule = daysRule(dayOfWeek, part);
  return rule.kind === 'days' ? { ...rule, days: sorted(rule.days.map((day) => day % 7)) } : rule;
}

function valuesOf(field: Field, part: Part): number[] {
  const values: number[] = [];
  let position = part.position;
  for (const item of part.text.split(',')) {
    values.push(...rangeOf(field, { text: item, position }));
    position += item.length + 1;
  }
  return sorted(values);
}

/** `*`, a value, `a-b`, `*\/n` or `a-b/n`. */
function rangeOf(field: Field, item: Part): number[] {
  const [range = '', stepText, more] = item.text.split('/');
  if (range === '') throw new CronError(item.position, `the ${field.name} is missing`);
  if (more !== undefined) throw new CronError(item.position, 'only one step is allowed');
  if (/^[?HW]$/i.test(range) || /^(?:\d+W|LW)$/i.test(range)) throw new CronError(item.position, `${range} is not understood`);
  const step = stepText === undefined ? 1 : stepOf(stepText, item.position + range.length + 1);
  const isStar = range === '*';
  const [from = '', to, rest] = range.split('-');
  if (rest !== undefined) throw new CronError(item.position, 'a range must have one beginning and one end');
  if (!isStar && to === undefined && stepText !== undefined) throw new CronError(item.position, 'a step requires * or a range');

  const first = isStar ? field.min : numberOf(field, { text: from, position: item.position });
  // 7 is Sunday again: a star covers each day once.
  const starEnd = field === dayOfWeek ? 6 : field.max;
  const last = isStar ? starEnd : to === undefined ? first : numberOf(field, { text: to, position: item.position + from.length + 1 });
  if (first > last) throw new CronError(item.position, 'the range ends before it begins');
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, at) => first + at * step);
}

function stepOf(text: string, position: number): number {
  if (!/^\d{1,4}$/.test(text)) throw new CronError(position, 'a step must be a number');
  if (Number(text) === 0) throw new CronError(position, 'a step must not be 0');
  return Number(text);
}

function numberOf(field: Field, { text, position }: Part): number {
  const named = field.names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + (field === month ? 1 : 0);
  if (!/^\d{1,4}$/.test(text)) throw new CronError(position, `${text === '' ? 'nothing' : text} is no ${field.name}`);
  const value = Number(text);
  if (value < field.min || value > field.max) throw new CronError(position, `the ${field.name} goes from ${field.min} to ${field.max}`);
  return value;
}

function sorted(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((left, right) => left - right);
}
