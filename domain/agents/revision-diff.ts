import { isDeepStrictEqual } from 'node:util';
import type { RevisionDocument } from '../../db/agents/revisions/revision-document.ts';

/** One difference between two documents. For `add` and `replace` the pointer lies in the target, for `remove` in the base. */
export interface RevisionChange {
  readonly pointer: string;
  readonly op: 'add' | 'remove' | 'replace';
  readonly before: unknown;
  readonly after: unknown;
}

export interface RevisionDiff {
  readonly changes: readonly RevisionChange[];
  readonly truncated: boolean;
}

const maxChanges = 1_000;

/** Lists whose members are identified by a field, whatever their position. */
const memberKeys: Readonly<Record<string, string>> = {
  '/variables': 'name',
  '/tools': 'id',
  '/toolkits': 'id',
  '/skills': 'id',
  '/sub_agents': 'id',
  '/knowledge': 'id',
};

/** Returns the changes from one document to another. Bindings match by their target, variables by name, other lists as a whole. */
export function diffDocuments(base: RevisionDocument, target: RevisionDocument): RevisionDiff {
  const changes: RevisionChange[] = [];
  compare('', base, target, changes);
  return {
    changes: changes.slice(0, maxChanges),
    truncated: changes.length > maxChanges,
  };
}

function compare(pointer: string, before: unknown, after: unknown, changes: RevisionChange[]): void {
  // One change over the limit shows that there are more.
  if (changes.length > maxChanges || isDeepStrictEqual(before, after)) return;
  const key = memberKeys[pointer];
  if (key !== undefined && Array.isArray(before) && Array.isArray(after)) return compareMembers(pointer, { key, before, after }, changes);
  if (!isObject(before) || !isObject(after)) {
    changes.push({ pointer, op: 'replace', before, after });
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const at = `${pointer}/${escaped(name)}`;
    if (!Object.hasOwn(after, name)) changes.push({ pointer: at, op: 'remove', before: before[name], after: null });
    else if (!Object.hasOwn(before, name)) changes.push({ pointer: at, op: 'add', before: null, after: after[name] });
    else compare(at, before[name], after[name], changes);
  }
}

interface Members {
  readonly key: string;
  readonly before: readonly unknown[];
  readonly after: readonly unknown[];
}

function compareMembers(pointer: string, { key, before, after }: Members, changes: RevisionChange[]): void {
  const keyOf = (member: unknown) => (isObject(member) ? member[key] : member);
  for (const [index, member] of before.entries()) {
    if (!after.some((other) => keyOf(other) === keyOf(member)))
      changes.push({ pointer: `${pointer}/${index}`, op: 'remove', before: member, after: null });
  }
  for (const [index, member] of after.entries()) {
    const old = before.find((other) => keyOf(other) === keyOf(member));
    if (old === undefined) changes.push({ pointer: `${pointer}/${index}`, op: 'add', before: null, after: member });
    else compare(`${pointer}/${index}`, old, member, changes);
  }
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
