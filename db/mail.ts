import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { DeliveryResult } from '../workflows/contracts/upkeep/delivery.ts';
import type { MailRequest } from '../workflows/contracts/upkeep/mail.ts';
import type { OutboxMessage } from '../workflows/contracts/outbox.ts';
import { workflowIds } from '../workflows/contracts/queues.ts';
import type { KeyRing } from './key-ring.ts';
import { mailToken, tokenHash } from './identity/factors/opaque-tokens.ts';
import { newId } from './ids.ts';
import { addOutbox } from './outbox.ts';
import { query } from './query.ts';
import { change, row } from './sql.ts';
import type { TenantTransaction } from './tenant-transaction.ts';

/** The tenant that a mail's row lies in; the transaction must be allowed to write it. */
export interface MailScope {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** A mail that leaves after the commit, with the digest of the token in its link; only the digest is stored. */
export interface QueuedMail {
  readonly outboxId: string;
  readonly tokenHash: Buffer;
}

/** Writes a mail to the outbox. The token is derived from the row's id, so every try sends the same link. */
export async function addMail(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { mail, rowScope }: { mail: MailRequest; rowScope: MailScope },
): Promise<QueuedMail> {
  const outboxId = newId();
  const [key] = keys.mailKeys;

  await addOutbox(
    tx,
    {
      kind: 'mail',
      mail,
      keyId: key.id,
      workflowId: workflowIds.delivery(outboxId),
      organizationId: rowScope.organizationId,
      workspaceId: rowScope.workspaceId,
      correlationId: tx.correlationId,
    },
    { id: outboxId, dedupeKey: outboxId },
  );
  return { outboxId, tokenHash: tokenHash(mailToken(key, outboxId)) };
}

export type MailMessage = Extract<OutboxMessage, { kind: 'mail' }>;

/** A mail's row as its delivery loads it. */
export type StoredMail = NonNullable<Awaited<ReturnType<typeof loadMail>>>;

/**
 * Returns the mail of an outbox row, or null once it has been swept. `isStale`: it was requested more than a day ago, and a person who was waiting for a new
 * password has asked again by now. Uses the sweeper's pool; the row says which tenant it belongs to.
 */
export function loadMail(em: SqlEntityManager, outboxId: string) {
  return row(
    em,
    query
      .selectFrom('outbox')
      // Its kind says which message it is.
      .select(({ ref }) => ref('payload').$castTo<MailMessage>().as('message'))
      .select(sql<boolean>`created_at < now() - interval '24 hours'`.as('isStale'))
      .where('id', '=', outboxId)
      .where('kind', '=', 'mail'),
  );
}

/** Records the outcome of a mail and erases its address. Returns false when an outcome was already recorded. */
export async function settleMail(tx: TenantTransaction, outboxId: string, result: DeliveryResult): Promise<boolean> {
  const payload = sql<MailMessage>`payload || jsonb_build_object('settled', ${result}::text, 'mail', (payload -> 'mail') - 'email' - 'to')`;
  const settled = await change(
    tx.em,
    query
      .updateTable('outbox')
      .set({ payload })
      .where('id', '=', outboxId)
      .where('kind', '=', 'mail')
      .where(sql<boolean>`payload -> 'settled' is null`),
  );
  return settled > 0;
}

/** Records that the mail's token is being created now. Returns false when an earlier try has created it. */
export async function recordOpened(tx: TenantTransaction, outboxId: string): Promise<boolean> {
  const noted = await change(
    tx.em,
    query
      .updateTable('outbox')
      .set({ payload: sql<MailMessage>`payload || '{"opened": true}'` })
      .where('id', '=', outboxId)
      .where('kind', '=', 'mail')
      .where(sql<boolean>`payload -> 'opened' is null`),
  );
  return noted > 0;
}
