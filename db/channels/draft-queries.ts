import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { iso, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A message that shows an answer while it grows: the first part of the answer, before its text is written. */
export type DraftRow = NonNullable<Awaited<ReturnType<typeof readDraft>>>;

const draft = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  query
    .selectFrom('channel_outbound')
    .where('messageId', '=', messageId)
    .where('kind', '=', 'reply')
    .where('part', '=', 0)
    .where('text', 'is', null)
    .select(['id', 'externalId', 'createdAt']),
);

/** Returns the draft of an answer, or null when there is none or the answer itself is written. */
export async function readDraft(tx: Pick<TenantTransaction, 'em'>, messageId: string) {
  const found = await row(tx.em, draft({ messageId }));
  return found && { ...found, createdAt: new Date(iso(found.createdAt)) };
}
