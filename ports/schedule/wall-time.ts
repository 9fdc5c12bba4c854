/** A time as a wall clock shows it, as milliseconds of the same digits in UTC. */
export type WallMs = number;

const formats = new Map<string, Intl.DateTimeFormat>();
const dayMs = 86_400_000;

/** Whether the runtime knows the zone by this name (IANA). */
export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** Returns what the clocks of a zone show at an instant (milliseconds since 1970), to the second. */
export function wallAt(zone: string, instant: number): WallMs {
  const second = Math.floor(instant / 1_000) * 1_000;
  const parts = formatOf(zone).formatToParts(second);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value ?? 0);
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) + (instant - second);
}

/** Returns how far the zone's clocks are ahead of UTC at an instant, in milliseconds. */
export function offsetAt(zone: string, instant: number): number {
  return wallAt(zone, instant) - instant;
}

/** Returns the instants at which the clocks show a wall time, in order: one, two where clocks go back, none where they go forward. */
export function instantsOf(zone: string, wall: WallMs): number[] {
  const offsets = new Set([offsetAt(zone, wall - dayMs), offsetAt(zone, wall), offsetAt(zone, wall + dayMs)]);
  return [...offsets]
    .map((offset) => wall - offset)
    .filter((instant) => wallAt(zone, instant) === wall)
    .toSorted((left, right) => left - right);
}

/** For a wall time that no clock shows, returns the first instant after the gap. */
export function endOfGap(zone: string, wall: WallMs): number {
  return changeWithin(zone, wall - dayMs - 1_000, wall + dayMs);
}

/** One change of a zone's clocks: its first instant with the new offset, and both offsets in milliseconds. */
export interface ClockChange {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

/** Returns the clock changes of a zone after one instant and up to another, in order; two that undo each other within a day do not count. */
export function changesBetween(zone: string, from: number, to: number): ClockChange[] {
  const found: ClockChange[] = [];
  for (let day = from, before = offsetAt(zone, from); day < to; day += dayMs) {
    const end = Math.min(day + dayMs, to);
    const after = offsetAt(zone, end);
    if (after !== before) found.push({ at: changeWithin(zone, day, end), before, after });
    before = after;
  }
  return found;
}

/** Returns the first instant with the new offset, when clocks change once after `before` and up to `after`. */
function changeWithin(zone: string, before: number, after: number): number {
  const old = offsetAt(zone, before);
  // A binary search for the second.
  while (after - before > 1_000) {
    const middle = Math.floor((before + after) / 2_000) * 1_000;
    if (middle <= before) break;
    if (offsetAt(zone, middle) === old) before = middle;
    else after = middle;
  }
  return after;
}

/** Returns an instant as local time with its offset, RFC 3339: `2026-03-08T03:00:00-04:00`. */
export function localText(zone: string, instant: number): string {
  const offset = offsetAt(zone, instant);
  return wallText(instant + offset) + offsetText(offset);
}

/** An offset from UTC: `-04:00`. */
export function offsetText(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** A wall time without offset: `2026-03-08T02:30:00`. */
export function wallText(wall: WallMs): string {
  return new Date(wall).toISOString().slice(0, 19);
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(zone, format);
  return format;
}
