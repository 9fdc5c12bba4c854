import { ArrayType, p, raw } from '@mikro-orm/core';
import { followedTimeIfKnown } from './database-clock.ts';
import { newId } from './ids.ts';

/** `text[]` with every element quoted: MikroORM's own type turns an element `NULL` into null and mangles control characters. */
class TextArrayType extends ArrayType<string> {
  override convertToDatabaseValue(value: string[] | null): string | null {
    return value === null || value === undefined
      ? null
      : `{${value.map((element) => `"${element.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
  }

  override compareAsType(): string {
    return 'string[]';
  }
}

/** Primary key: a UUIDv7, created with the row unless given. */
export const idColumn = () =>
  p
    .uuid()
    .primary()
    .onCreate(() => newId());
export const uuidColumn = () => p.uuid();
export const timeColumn = () => p.datetime(3);
/** A calendar day such as `2026-01-31`, not an instant. */
export const dateColumn = () => p.date();
/** When the row was written, by the database's clock, unless given. */
export const writtenAtColumn = () => p.datetime(3).defaultRaw('now()');
export const createdAtColumn = () => writtenAtColumn();
/** When the row was last written, by the database's clock. An entity sets the time itself, so it can be shown after a flush; a typed query writes `now()`. */
export const updatedAtColumn = () =>
  p
    .datetime(3)
    .onUpdate((entity: object | undefined, em) => (entity === undefined ? null : followedTimeIfKnown(em)) ?? raw('now()'))
    .defaultRaw('now()');
/** Counts the writes of a row; feeds its ETag. */
export const versionColumn = () => p.integer().version().default(1);
export const bigintColumn = () => p.bigint('number');
export const textArrayColumn = () => p.type(new TextArrayType()).$type<string[]>().columnType('text[]');
export const uuidArrayColumn = () => p.type(new TextArrayType()).$type<string[]>().columnType('uuid[]');
/** jsonb whose default is created afresh for each row; MikroORM would treat a default as text and share it between rows. */
export const jsonColumn = <T>(fresh: () => T) =>
  p
    .json<T>()
    .onCreate(fresh)
    .defaultRaw(`'${JSON.stringify(fresh())}'`);
export const currencyColumn = () => p.character().length(3);
/** A decimal as string, never a float. */
export const decimalColumn = (precision: number, scale: number) => p.decimal('string').precision(precision).scale(scale);

/** pgvector's `halfvec`: 16-bit numbers. Queries read and write it as pgvector's text, `[0.5,-1]`. */
export const halfvecColumn = () => p.string().columnType('halfvec').runtimeType('string');
/** `tsvector`: lexemes with their positions, as text. */
export const tsvectorColumn = () => p.string().columnType('tsvector');
