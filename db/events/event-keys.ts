import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/**
 * Returns the event that already has a digest in its workspace; null: this one reserves it for 24 hours. A concurrent request with the same digest waits for
 * the end of this transaction.
 */
export async function reserveEventKey(
  tx: TenantTransaction,
  place: { readonly organizationId: string; readonly workspaceId: string },
  { eventId, digest }: { readonly eventId: string; readonly digest: Buffer },
): Promise<string | null> {
  const taken = await rows(
    tx.em,
    `insert into event_keys (workspace_id, digest, organization_id, event_id, expires_at) values (?, ?, ?, ?, clock_timestamp() + interval '24 hours')
     on conflict (workspace_id, digest) do update set event_id = excluded.event_id, expires_at = excluded.expires_at
       where event_keys.expires_at <= clock_timestamp() returning event_id`,
    [place.workspaceId, digest, place.organizationId, eventId],
  );
  if (taken.length > 0) return null;
  const found = await row(
    tx.em,
    query.selectFrom('event_keys').where('workspaceId', '=', place.workspaceId).where('digest', '=', digest).select('eventId'),
  );
  return found?.eventId ?? null;
}
