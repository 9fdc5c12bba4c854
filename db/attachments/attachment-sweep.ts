import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import { unlinkedHours } from './attachments.ts';

/** Removes up to `limit` links that have no effect any more: expired, or of a deleted run or skill. Sweeper's pool, like everything here. */
export function dropDeadLinks(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    `delete from attachment_links where ctid = any (array(
       select l.ctid from attachment_links l
        where l.until <= now() or (l.owner_kind = 'run' and not exists (select 1 from runs r where r.id = l.owner_id and r.deleted_at is null))
           or (l.owner_kind = 'skill' and not exists (select 1 from skills s where s.id = l.owner_id and s.deleted_at is null))
        limit ?))`,
    [limit],
  );
}

/** Lets up to `limit` attachments that have neither link nor expiry expire in a day. */
export function expireUnlinked(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    `update attachments set expires_at = now() + make_interval(hours => ?) where id = any (array(
       select a.id from attachments a
        where a.expires_at is null and not exists (select 1 from attachment_links l where l.attachment_id = a.id) limit ?))`,
    [unlinkedHours, limit],
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
