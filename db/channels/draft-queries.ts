import { iso, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A message that shows an answer while it grows: the first part of the answer, before its text is written. */
export interface DraftRow {
  readonly id: string;
  readonly externalId: string | null;
  readonly createdAt: Date;
}

/** Returns the draft of an answer, or null when there is none or the answer itself is written. */
export async function readDraft(tx: Pick<TenantTransaction, 'em'>, messageId: string): Promise<DraftRow | null> {
  const found = await row<{ id: string; externalId: string | null; createdAt: string }>(
    tx.em,
    `select id, external_id as "externalId", created_at as "createdAt" from channel_outbound where message_id = ? and kind = 'reply' and part = 0 and text is null`,
    [messageId],
  );
  return found && { ...found, createdAt: new Date(iso(found.createdAt)) };
}
