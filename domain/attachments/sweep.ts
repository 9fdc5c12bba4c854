import { deleteExpired, dropDeadLinks, expireUnlinked } from '../../db/attachments/attachment-sweep.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

/** What lets go of attachments, so many rows a time, in this order: what nothing holds any more once its dead links are gone has a day from then on. */
export const releases = [
  { what: 'attachment links', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => dropDeadLinks(em, limit)) },
  { what: 'attachments let go', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => expireUnlinked(em, limit)) },
] as const;

/** Deletes up to `limit` unlinked attachments past their end. Rows first: gives the keys of their bytes, which then are nobody's, and strays once their removal is cut off. */
export function deleteReleased(db: Databases, limit: number): Promise<string[]> {
  return sweep(db, (em) => deleteExpired(em, limit));
}
