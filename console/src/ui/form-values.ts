import { isRecord, readJson } from './read-json.ts';

/** A text; empty: null. */
export const textOf = (value = ''): string | null => (value.trim() === '' ? null : value.trim());

/** An object as JSON; empty: null; undefined: it is none, and the form can't be sent. */
export function objectOf(value = ''): Readonly<Record<string, unknown>> | null | undefined {
  if (value.trim() === '') return null;
  const { value: read } = readJson(value);
  return isRecord(read) ? read : undefined;
}

export const jsonText = (value: unknown): string => (value === null || value === undefined ? '' : JSON.stringify(value, null, 2));

/** What a field of the kind `moment` holds, in the reader's zone, as the API has it; and back. */
export const instantOf = (value = ''): string | null => (value === '' ? null : new Date(value).toISOString());
/** The instant as a field of the person's own zone has it, to the millisecond: what nobody touches is saved as it was. */
export function momentOf(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 23);
  return local.replace(/(?::00)?\.000$/, '');
}

export const isTrue = (value: string | undefined): boolean => value === 'true';
export const choices = <T extends string>(labels: Readonly<Record<T, string>>) =>
  (Object.keys(labels) as T[]).map((id) => ({ id, label: labels[id] })); // keys of that record
