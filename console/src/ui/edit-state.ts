import { etagOf } from '@longhaul/client';
import { useEffect, useState } from 'react';
import { draftKey } from './draft.ts';
import { isSame } from './merge-json.ts';

/** A state of an object, with the ETag that names it. */
export interface Version<T> {
  readonly value: T;
  readonly etag?: string | undefined;
}

/** What was read, with the ETag of its reply: what is made of the value keeps it. */
export function versionOf<T extends object>(value: T): Version<T> {
  return { value, etag: etagOf(value) };
}

/** What is edited: the version that it began with, and what has been made of it. */
export interface Edit<T> {
  readonly base: Version<T>;
  readonly mine: T;
}

/**
 * An edit of an object. While nothing has been changed it follows `current`; from the first change on it keeps the version that it began with. It lies in the
 * storage of the tab until it is saved, given up, or its author signs out. Fields in `secrets` never go there.
 */
export function useEdit<T extends object>(name: string, current: Version<T>, secrets: readonly (keyof T)[]) {
  const key = draftKey(`edit:${name}`);
  const [state, setState] = useState(() => ({ key, edit: stored<T>(key) }));
  const edit = (state.key === key ? state.edit : stored<T>(key)) ?? { base: current, mine: current.value };
  const isDirty = !isSame(edit.mine, edit.base.value);
  const isKept = state.key === key && state.edit !== null;
  const shown = isDirty ? edit : { base: current, mine: current.value };
  const change = (update: (edit: Edit<T>) => Edit<T>) =>
    setState((last) => ({ key, edit: update(last.key === key && last.edit !== null && isDirty ? last.edit : shown) }));

  useEffect(() => {
    if (!isKept) return;
    if (!isDirty) return sessionStorage.removeItem(key);
    sessionStorage.setItem(key, JSON.stringify({ base: edit.base, mine: { ...edit.mine, ...pick(edit.base.value, secrets) } }));
  });
  const drop = () => {
    sessionStorage.removeItem(key);
    setState({ key, edit: null });
  };
  return { edit: shown, isDirty, change, drop };
}

function pick<T extends object>(value: T, names: readonly (keyof T)[]): Partial<T> {
  const picked: Partial<T> = {};
  for (const name of names) picked[name] = value[name];
  return picked;
}

function stored<T>(key: string): Edit<T> | null {
  const text = sessionStorage.getItem(key);
  return text === null ? null : (JSON.parse(text) as Edit<T>); // written above
}

/** The fields that differ, as a PATCH takes them. */
export function changedFields<T extends object>({ base, mine }: Edit<T>): Partial<T> {
  const changed: Partial<T> = {};
  for (const name of Object.keys(mine) as (keyof T)[]) if (!isSame(base.value[name], mine[name])) changed[name] = mine[name];
  return changed;
}
