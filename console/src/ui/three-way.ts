import type { Values } from './form-fields.tsx';

/** A field that two people have changed, each to something else. */
export interface Conflict {
  readonly name: string;
  readonly opened: string;
  readonly now: string;
  readonly mine: string;
}

/**
 * What was opened, what is there now and what somebody has typed, by field: a change on one side merges by itself, the same change on both sides too, and the
 * rest is for a person to choose.
 */
export function mergeValues(
  opened: Values,
  now: Values,
  mine: Values,
): { readonly merged: Values; readonly conflicts: readonly Conflict[] } {
  const merged: Record<string, string> = {};
  const conflicts: Conflict[] = [];
  for (const name of Object.keys({ ...opened, ...now, ...mine })) {
    const [before = '', theirs = '', own = ''] = [opened[name], now[name], mine[name]];
    merged[name] = own === before ? theirs : own;
    if (own !== before && theirs !== before && own !== theirs) conflicts.push({ name, opened: before, now: theirs, mine: own });
  }
  return { merged, conflicts };
}
