import { changesBetween } from './json-changes.ts';
import { isRecord } from './read-json.ts';

/** A place that two people have changed, each to something else. */
export interface JsonConflict {
  /** JSON pointer. */
  readonly pointer: string;
  /** undefined: it was not there. */
  readonly opened: unknown;
  readonly now: unknown;
  readonly mine: unknown;
}

/**
 * What was opened, what is there now and what somebody has made of it, at any depth. A change on one side merges by itself, the same change on both sides too;
 * the rest are conflicts, in which `merged` has `mine` until somebody chooses. Lists are one value: their elements have no names to tell them apart by.
 */
export function mergeJson<T>(opened: T, now: T, mine: T): { readonly merged: T; readonly conflicts: readonly JsonConflict[] } {
  const conflicts: JsonConflict[] = [];
  // An object merges into an object, anything else stays what one of the sides has.
  const merged = mergeAt({ pointer: '', opened, now, mine }, conflicts) as T;
  return { merged, conflicts };
}

function mergeAt(sides: JsonConflict, conflicts: JsonConflict[]): unknown {
  const { pointer, opened, now, mine } = sides;
  if (isSame(mine, opened) || isSame(mine, now)) return now;
  if (isSame(now, opened)) return mine;
  if (!isRecord(now) || !isRecord(mine)) {
    conflicts.push(sides);
    return mine;
  }
  const before = isRecord(opened) ? opened : {};
  const names = new Set([...Object.keys(now), ...Object.keys(mine), ...Object.keys(before)]);
  const entries = [...names].map((name) => {
    const below = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return [name, mergeAt({ pointer: below, opened: before[name], now: now[name], mine: mine[name] }, conflicts)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The value with another at a place; undefined takes the place away. */
export function withValueAt(value: unknown, pointer: string, next: unknown): unknown {
  const [name, ...rest] = pointer.split('/').slice(1);
  if (name === undefined) return next;
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  const below = isRecord(value) ? value : {};
  const inner = rest.length === 0 ? next : withValueAt(below[key], `/${rest.join('/')}`, next);
  return Object.fromEntries(Object.entries({ ...below, [key]: inner }).filter(([, one]) => one !== undefined));
}

export function isSame(one: unknown, other: unknown): boolean {
  return changesBetween(one, other).length === 0;
}
