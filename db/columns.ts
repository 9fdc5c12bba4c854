import { ArrayType, p, raw } from '@mikro-orm/core';
import { followedTimeIfKnown } from './database-clock.ts';
import { newId } from './ids.ts';

/** `text[]` with every element quoted: the platform's own form turns an element `NULL` into null and mangles control characters. */
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

/** Primary key: a UUIDv7, made when the row is made unless given. */
export const idColumn = () =>
  p
    .uuid()
    .primary()
    .onCreate(() => newId());
export const uuidColumn = () => p.uuid();
export const timeColumn = () => p.datetime(3);
/** A day of the calendar, `2026-01-31`: no instant. */
export const dateColumn = () => p.date();
/** When the row was written, by the database's clock, unless given. */
export const writtenAtColumn = () => p.datetime(3).defaultRaw('now()');
export const createdAtColumn = () => writtenAtColumn();
/** When the row was last written, by the database's clock. An entity holds the time itself, for whoever shows it after it was flushed; a typed query has none. */
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
/** jsonb that starts with a value of its own; MikroORM would take a default as text and share it between rows. */
export const jsonColumn = <T>(fresh: () => T) =>
  p
    .json<T>()
    .onCreate(fresh)
    .defaultRaw(`'${JSON.stringify(fresh())}'`);
export const currencyColumn = () => p.character().length(3);
/** A decimal as string, never a float. */
export const decimalColumn = (precision: number, scale: number) => p.decimal('string').precision(precision).scale(scale);

/** `halfvec` of pgvector: numbers of 16 bits. A query takes and gives it as the text of pgvector, `[0.5,-1]`. */
export const halfvecColumn = () => p.string().columnType('halfvec').runtimeType('string');
/** `tsvector`: lexemes with their positions, as text. */
export const tsvectorColumn = () => p.string().columnType('tsvector');
