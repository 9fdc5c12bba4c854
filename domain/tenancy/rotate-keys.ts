import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeSystemEntry } from '../audit/system-entry.ts';
import { setMark } from '../../db/http/system-marks.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { renewDataKeys, rewrapDataKeys, sealedTables, type Keks, type SealedTable } from '../../db/envelope.ts';
import { resealSome, type Unopened } from '../../db/tenancy/keys/reseal.ts';
import { openRenewal, transactionTime } from '../../db/tenancy/keys/reseal.ts';

/** Key of a renewal in `system_marks`: an interrupted renewal resumes, and creates no keys a second time. */
export const renewalMark = 'keys_reencrypt';

export interface Rotated {
  /** Data keys that were wrapped again. */
  readonly rewrapped: number;
  /** Data keys replaced, and values encrypted again under the new ones; 0 without a renewal. */
  readonly renewed: number;
  readonly resealed: number;
  /** Rows whose envelope can't be decrypted; they are left as they are. */
  readonly unopened: readonly Unopened[];
}

const rowsATransaction = 200;

/**
 * Wraps every data key under the newest deployment key; with `reencrypt` also creates new data keys and encrypts every value under them. Old and new values can
 * be decrypted meanwhile. Each transaction takes some rows and writes what it did to the platform's audit chain: after a kill at any point, a second run does
 * the rest.
 */
export async function rotateKeys(db: Databases, keks: Keks, { reencrypt }: { readonly reencrypt: boolean }): Promise<Rotated> {
  const rewrapped = await repeated(() =>
    sweep(db, async (em) => {
      const count = await rewrapDataKeys(em, keks, rowsATransaction);
      if (count > 0) await note(em, { rewrapped: count, kek: keks.keks[0].id });
      return count;
    }),
  );
  if (!reencrypt) return { rewrapped, renewed: 0, resealed: 0, unopened: [] };

  const before = await sweep(db, beginRenewal);
  const renewed = await repeated(() =>
    sweep(db, async (em) => {
      const count = await renewDataKeys(em, keks, { before, limit: rowsATransaction });
      if (count > 0) await note(em, { renewed: count });
      return count;
    }),
  );
  const { resealed, unopened } = await resealAll(db, keks);
  // Also when some value can't be decrypted: otherwise one such row would keep every later renewal from creating keys. Once it is repaired, the next renewal
  // includes it.
  await sweep(db, (em) => setMark(em, renewalMark, { before, is_done: true }));
  return { rewrapped, renewed, resealed, unopened };
}

/** Repeats passes over all tables until one finds nothing more: a value encrypted under the old key before it retired may be committed afterwards. */
async function resealAll(db: Databases, keks: Keks): Promise<Pick<Rotated, 'resealed' | 'unopened'>> {
  let resealed = 0;
  for (;;) {
    let count = 0;
    const unopened: Unopened[] = [];
    for (const table of sealedTables) {
      const pass = await resealTable(db, keks, table);
      count += pass.count;
      unopened.push(...pass.unopened);
    }
    resealed += count;
    if (count === 0) return { resealed, unopened };
  }
}

async function resealTable(db: Databases, keks: Keks, table: SealedTable): Promise<{ count: number; unopened: Unopened[] }> {
  const unopened: Unopened[] = [];
  let after: string | null = null;
  let count = 0;

  do {
    const part = { table, after, limit: rowsATransaction };
    const done = await sweep(db, async (em) => {
      const resealed = await resealSome(em, keks, part);
      if (resealed.count > 0) await note(em, { resealed: resealed.count, table });
      return resealed;
    });
    count += done.count;
    unopened.push(...done.unopened);
    after = done.next;
  } while (after !== null);
  return { count, unopened };
}

/** Keys created before this time are renewed: the time of an interrupted renewal, else now. */
async function beginRenewal(em: SqlEntityManager): Promise<string> {
  const open = await openRenewal(em, renewalMark);
  if (open !== null) return open;

  const before = await transactionTime(em);
  await setMark(em, renewalMark, { before, is_done: false });
  return before;
}

async function note(em: SqlEntityManager, counts: Readonly<Record<string, number | string>>): Promise<void> {
  const changes = Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, { from: null, to: value }]));
  const subject = { resourceType: 'data_key', organizationId: null, changes };

  await writeSystemEntry(em, { action: 'update', note: subject });
}

async function repeated(some: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let count = await some(); count > 0; count = await some()) total += count;
  return total;
}
