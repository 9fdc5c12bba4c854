import { isDeepStrictEqual } from 'node:util';
import type { AuditNote } from './operation.ts';

type Changes = NonNullable<AuditNote['changes']>;

/** Which of the named fields differ between two rows, or of all, for the audit entry. */
export function changesOf<Row extends object>(before: Row, after: Row, fields: readonly (keyof Row & string)[] = fieldsOf(after)): Changes {
  // Not their JSON text: the database keeps the fields of an object in an order of its own.
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
  // Of the members of `fields`, less those without a value.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}
