import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeSystemEntry } from '../audit/system-entry.ts';
import { setMark } from '../../db/http/system-marks.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { renewDataKeys, rewrapDataKeys, encryptedTables, type Keks, type EncryptedTable } from '../../db/envelope.ts';
import { reencryptSome, type Undecrypted, openRenewal, transactionTime } from '../../db/tenancy/keys/reencrypt.ts';

/** Key of a renewal in `system_marks`: an interrupted renewal resumes, and creates no keys a second time. */
export const renewalMark = 'keys_reencrypt';

export interface Rotated {
  /** Data keys that were wrapped again. */
  readonly rewrapped: number;
  /** Data keys replaced, and values encrypted again under the new ones; 0 without a renewal. */
  readonly renewed: number;
  readonly reencrypted: number;
  /** Rows whose envelope can't be decrypted; they are left as they are. */
  readonly undecrypted: readonly Undecrypted[];
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
  if (!reencrypt) return { rewrapped, renewed: 0, reencrypted: 0, undecrypted: [] };

  const before = await sweep(db, beginRenewal);
  const renewed = await repeated(() =>
    sweep(db, async (em) => {
      const count = await renewDataKeys(em, keks, { before, limit: rowsATransaction });
      if (count > 0) await note(em, { renewed: count });
      return count;
    }),
  );
  const { reencrypted, undecrypted } = await reencryptAll(db, keks);
  // Also when some value can't be decrypted: otherwise one such row would keep every later renewal from creating keys. Once it is repaired, the next renewal
  // includes it.
  await sweep(db, (em) => setMark(em, renewalMark, { before, is_done: true }));
  return { rewrapped, renewed, reencrypted, undecrypted };
}

/** Repeats passes over all tables until one finds nothing more: a value encrypted under the old key before it retired may be committed afterwards. */
async function reencryptAll(db: Databases, keks: Keks): Promise<Pick<Rotated, 'reencrypted' | 'undecrypted'>> {
  let reencrypted = 0;
  for (;;) {
    let count = 0;
    const undecrypted: Undecrypted[] = [];
    for (const table of encryptedTables) {
      const pass = await reencryptTable(db, keks, table);
      count += pass.count;
      undecrypted.push(...pass.undecrypted);
    }
    reencrypted += count;
    if (count === 0) return { reencrypted, undecrypted };
  }
}

async function reencryptTable(db: Databases, keks: Keks, table: EncryptedTable): Promise<{ count: number; undecrypted: Undecrypted[] }> {
  const undecrypted: Undecrypted[] = [];
  let after: string | null = null;
  let count = 0;

  do {
    const part = { table, after, limit: rowsATransaction };
    const done = await sweep(db, async (em) => {
      const reencrypted = await reencryptSome(em, keks, part);
      if (reencrypted.count > 0) await note(em, { resealed: reencrypted.count, table });
      return reencrypted;
    });
    count += done.count;
    undecrypted.push(...done.undecrypted);
    after = done.next;
  } while (after !== null);
  return { count, undecrypted };
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
