import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { anyOf } from '../expressions.ts';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import { unlinkedHours } from './attachments.ts';

/** Removes up to `limit` links that have no effect any more: expired, or of a deleted run or skill. Sweeper's pool, like everything here. */
export function dropDeadLinks(em: SqlEntityManager, limit: number): Promise<number> {
  const dead = query
    .selectFrom('attachment_links as l')
    .select(sql`l.ctid`.as('ctid'))
    .where(({ eb, or, and, not, exists, selectFrom }) =>
      or([
        eb('l.until', '<=', sql<string>`now()`),
        and([
          eb('l.ownerKind', '=', 'run'),
          not(exists(selectFrom('runs as r').whereRef('r.id', '=', 'l.ownerId').where('r.deletedAt', 'is', null))),
        ]),
        and([
          eb('l.ownerKind', '=', 'skill'),
          not(exists(selectFrom('skills as s').whereRef('s.id', '=', 'l.ownerId').where('s.deletedAt', 'is', null))),
        ]),
      ]),
    )
    .limit(limit);
  return change(em, query.deleteFrom('attachment_links').where(sql<boolean>`ctid = ${anyOf(dead)}`));
}

/** Lets up to `limit` attachments that have neither link nor expiry expire in a day. */
export function expireUnlinked(em: SqlEntityManager, limit: number): Promise<number> {
  const unlinked = query
    .selectFrom('attachments as a')
    .select('a.id')
    .where('a.expiresAt', 'is', null)
    .where(({ exists, not, selectFrom }) => not(exists(selectFrom('attachment_links as l').whereRef('l.attachmentId', '=', 'a.id'))))
    .limit(limit);
  return change(
    em,
    query
      .updateTable('attachments')
      .set({ expiresAt: sql<string>`now() + make_interval(hours => ${unlinkedHours})` })
      .where(sql<boolean>`id = ${anyOf(unlinked)}`),
  );
}

/** Deletes up to `limit` unlinked, expired attachments; returns the storage keys of their bytes, which no row names any more. */
export async function deleteExpired(em: SqlEntityManager, limit: number): Promise<string[]> {
  const deleted = await rows(
    em,
    query
      .with('due', (of) =>
        of
          .selectFrom('attachments as a')
          .select('a.id')
          .where('a.expiresAt', '<=', sql<string>`now()`)
          .where(({ exists, not, selectFrom }) =>
            not(exists(selectFrom('attachment_links as l').select(sql.lit(1).as('one')).whereRef('l.attachmentId', '=', 'a.id'))),
          )
          .orderBy('a.expiresAt')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .deleteFrom('attachments as a')
      .using('due')
      .whereRef('a.id', '=', 'due.id')
      .returning('a.storageKey'),
  );
  return deleted.map(({ storageKey }) => storageKey);
}
