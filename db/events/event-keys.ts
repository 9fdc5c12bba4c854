import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

interface NewKey {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly digest: Buffer;
  readonly eventId: string;
}

const reserve = prepared(({ organizationId, workspaceId, digest, eventId }: ParametersOf<NewKey>) =>
  query
    .insertInto('event_keys')
    .values({ organizationId, workspaceId, digest, eventId, expiresAt: sql<string>`clock_timestamp() + interval '24 hours'` })
    .onConflict((conflict) =>
      conflict
        .columns(['workspaceId', 'digest'])
        .doUpdateSet(({ ref }) => ({ eventId: ref('excluded.eventId'), expiresAt: ref('excluded.expiresAt') }))
        .where('event_keys.expiresAt', '<=', sql<string>`clock_timestamp()`),
    )
    .returning('eventId'),
);

/**
 * Returns the event that already has a digest in its workspace; null: this one reserves it for 24 hours. A concurrent request with the same digest waits for
 * the end of this transaction.
 */
export async function reserveEventKey(
  tx: TenantTransaction,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
  { eventId, digest }: { readonly eventId: string; readonly digest: Buffer },
): Promise<string | null> {
  const taken = await rows(tx.em, reserve({ organizationId, workspaceId, eventId, digest }));
  if (taken.length > 0) return null;
  const found = await row(
    tx.em,
    query.selectFrom('event_keys').where('workspaceId', '=', workspaceId).where('digest', '=', digest).select('eventId'),
  );
  return found?.eventId ?? null;
}
