import { newId } from '../../../db/ids.ts';
import { canary, type Place } from './places.ts';

/** What one column of a table must hold beyond its type: a rule of the schema, of a view, or the shape of its JSON. */
export type ColumnRules = Readonly<Record<string, (place: Place, row: { readonly id: string; readonly isFirst: boolean }) => unknown>>;

export const same = (value: unknown) => () => value;
export const none = same(null);
/** The same words on both sides, so that a name alone never finds the right row. */
export const twin = (_place: Place, row: { readonly id: string; readonly isFirst: boolean }) => (row.isFirst ? 'twin' : `twin-${row.id}`);
export const note = (table: string, column: string) => (place: Place) => ({ note: canary(place, table, column) });
export const text = (table: string, column: string) => (place: Place) => ({ text: canary(place, table, column) });
export const unique = (table: string, column: string) => (place: Place) => `${canary(place, table, column)}.${newId()}`;
export const inADay = () => new Date(Date.now() + 86_400_000);
