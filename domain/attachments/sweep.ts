import { deleteExpired, dropDeadLinks, expireUnlinked } from '../../db/attachments/attachment-sweep.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

/** The steps that release attachments, `limit` rows at a time, in this order: once dead links are dropped, an attachment without links has one more day. */
export const releases = [
  { what: 'attachment links', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => dropDeadLinks(em, limit)) },
  { what: 'attachments let go', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => expireUnlinked(em, limit)) },
] as const;

/**
 * Deletes up to `limit` unlinked attachments past their expiry. Rows first: returns the keys of their bytes, which then belong to no row, and are strays if
 * their removal is interrupted.
 */
export function deleteReleased(db: Databases, limit: number): Promise<string[]> {
  return sweep(db, (em) => deleteExpired(em, limit));
}
