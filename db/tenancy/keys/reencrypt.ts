import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows, row } from '../../sql.ts';
import { EnvelopeError, keyIdOf, decrypt, encrypt, type Keks, type EncryptedTable } from '../../envelope.ts';
import { encryptedColumns, type EncryptedRow } from '../../encrypted-columns.ts';

/** A row whose envelope cannot be decrypted: it is left as it is. */
export interface Undecrypted {
  readonly table: EncryptedTable;
  readonly key: string;
}

/** One part of a pass over a table: how many envelopes were re-encrypted, which could not be, and where the next part begins (null: it was the last). */
export interface Reencrypted {
  readonly count: number;
  readonly undecrypted: readonly Undecrypted[];
  readonly next: string | null;
}

/**
 * Re-encrypts, under the live data key, the envelopes of a table that use a retired one: at most `limit` rows after the key `after`. Locks the rows, so that a
 * value set meanwhile is never overwritten. Sweeper's pool.
 */
export async function reencryptSome(
  em: SqlEntityManager,
  keks: Keks,
  part: { readonly table: EncryptedTable; readonly after: string | null; readonly limit: number },
): Promise<Reencrypted> {
  const { table, limit } = part;
  const found = await readRetired(em, part);
  const undecrypted: Undecrypted[] = [];

  for (const row of found) {
    const isDone = await reencryptOne(em, keks, table, row);
    if (!isDone) undecrypted.push({ table, key: row.key });
  }
  return { count: found.length - undecrypted.length, undecrypted, next: found.length < limit ? null : (found.at(-1)?.key ?? null) };
}

type RetiredRow = EncryptedRow & { readonly envelope: Buffer };

// This statement and the next are texts, because their table and columns are known at run time only.
async function readRetired(
  em: SqlEntityManager,
  { table, after, limit }: { readonly table: EncryptedTable; readonly after: string | null; readonly limit: number },
): Promise<RetiredRow[]> {
  const { key, keyType, envelope, keyIdColumn, columns } = encryptedColumns[table];
  const isAfter = after === null ? '' : `and t.${key} > ?::${keyType}`;
  const holds = keyIdColumn === undefined ? '' : `and t.${keyIdColumn} is not null`;
  const keyId = `encode(substring(t.${envelope} from 2 for 16), 'hex')`;

  return rows<RetiredRow>(
    em,
    `select ${[`t.${key} as key`, `t.${envelope} as envelope`, ...columns.map((column) => `t.${column}`)].join(', ')}
     from ${table} t
     where ${keyId} in (select replace(k.id::text, '-', '') from data_keys k where k.retired_at is not null) ${holds} ${isAfter}
     order by t.${key} limit ? for update of t`,
    [...(after === null ? [] : [after]), limit],
  );
}

async function reencryptOne(em: SqlEntityManager, keks: Keks, table: EncryptedTable, row: RetiredRow): Promise<boolean> {
  const { key, envelope, keyIdColumn, bindingOf } = encryptedColumns[table];
  const binding = bindingOf(row);
  const plaintext = await decrypt(em, keks, binding, row.envelope).catch(refused);
  if (plaintext === null) return false;

  const renewed = await encrypt(em, keks, binding, plaintext);
  plaintext.fill(0);
  await change(
    em,
    `update ${table} set ${envelope} = ?${keyIdColumn === undefined ? '' : `, ${keyIdColumn} = ?`} where ${key} = ?`,
    keyIdColumn === undefined ? [renewed, row.key] : [renewed, keyIdOf(renewed), row.key],
  );
  return true;
}

/** Returns null for an envelope that was tampered with; any other error, such as a failed database or a missing deployment key, ends the pass. */
function refused(error: unknown): null {
  if (error instanceof EnvelopeError) return null;
  throw error;
}

/** Returns the time before which an interrupted renewal replaces keys, by its mark, or null when none is open. */
export async function openRenewal(em: SqlEntityManager, mark: string): Promise<string | null> {
  const open = await row(
    em,
    query
      .selectFrom('system_marks')
      .select(({ ref }) => sql<string | null>`${ref('detail')} ->> 'before'`.as('before'))
      .where('name', '=', mark)
      .where(({ ref }) => sql<boolean>`not (${ref('detail')} ->> 'is_done')::boolean`),
  );
  return open?.before ?? null;
}

/** Returns the time of the transaction, as the database writes it. */
export async function transactionTime(em: SqlEntityManager): Promise<string> {
  const clock = await row(em, query.selectNoFrom(sql<string>`now()::text`.as('now')));
  return clock?.now ?? '';
}
