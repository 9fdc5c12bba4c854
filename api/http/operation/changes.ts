import { isDeepStrictEqual } from 'node:util';
import type { AuditNote } from './operation.ts';

type Changes = NonNullable<AuditNote['changes']>;

/** Returns which of these fields (by default, of all) differ between two rows, for the audit entry. */
export function changesOf<Row extends object>(before: Row, after: Row, fields: readonly (keyof Row & string)[] = fieldsOf(after)): Changes {
  // Compares values, not their JSON text: the database reorders the fields of an object.
  const differing = fields.filter((field) => !isDeepStrictEqual(before[field], after[field]));
  return Object.fromEntries(differing.map((field) => [field, { from: before[field], to: after[field] }]));
}

/** Whether there is anything to write. */
export function hasAny(changes: Changes): boolean {
  return Object.keys(changes).length > 0;
}

function fieldsOf<Row extends object>(row: Row): (keyof Row & string)[] {
  // The row is a literal, so it has exactly the fields of its type.
  return Object.keys(row) as (keyof Row & string)[];
}

/** Returns those fields of a change that a body sets; omitted fields stay unchanged. */
export function fieldsSet<Fields extends object>(fields: { readonly [F in keyof Fields]?: Fields[F] | undefined }): Partial<Fields> {
  // The entries are members of `fields`, without those that have no value.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}
