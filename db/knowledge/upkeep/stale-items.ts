import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A live item that is past its validity, or that has not been used for long. */
export interface StaleItem {
  readonly id: string;
  readonly reason: 'expired' | 'unused';
  readonly since: string;
  readonly hash: string;
}

/** Returns those of the live items that still count and are stale at the given time. */
export function findStaleItems(
  tx: Pick<TenantTransaction, 'em'>,
  ids: readonly string[],
  { now, staleAfterDays }: { readonly now: Date; readonly staleAfterDays: number },
): Promise<StaleItem[]> {
  return rows(
    tx.em,
    `select id, case when valid_until <= ?::timestamptz then 'expired' else 'unused' end as reason, content_hash as hash,
            case when valid_until <= ?::timestamptz then valid_until else coalesce(last_used_at, created_at) end as since
       from knowledge_live_items where id = any (?::uuid[]) and curation_state in ('pending', 'reviewed', 'promoted')
        and (valid_until <= ?::timestamptz or coalesce(last_used_at, created_at) < ?::timestamptz - make_interval(days => ?)) order by id`,
    [now, now, [...ids], now, now, staleAfterDays],
  );
}
