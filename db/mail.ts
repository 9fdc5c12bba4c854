import type { MailRequest } from '../workflows/contracts/mail.ts';
import { workflowIds } from '../workflows/contracts/queues.ts';
import type { KeyRing } from './identity/key-ring.ts';
import { mailToken, tokenHash } from './identity/opaque-tokens.ts';
import { newId } from './ids.ts';
import { addOutbox } from './outbox.ts';
import type { Unit } from './unit.ts';

/** Whose mail it is; the row lies in that tenant, which the transaction must be allowed to write. */
export interface MailHome {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** A mail that leaves after the commit, and the digest of the token that its link will carry: what is stored of it. */
export interface QueuedMail {
  readonly outboxId: string;
  readonly tokenHash: Buffer;
}

/** Writes a mail to the outbox. The token is derived from the row's id, so that every try sends the same link. */
export async function addMail(
  unit: Unit,
  keys: Pick<KeyRing, 'mailKeys'>,
  { mail, home }: { mail: MailRequest; home: MailHome },
): Promise<QueuedMail> {
  const outboxId = newId();
  const [key] = keys.mailKeys;

  await addOutbox(
    unit,
    {
      kind: 'mail',
      mail,
      keyId: key.id,
      workflowId: workflowIds.delivery(outboxId),
      organizationId: home.organizationId,
      workspaceId: home.workspaceId,
      correlationId: unit.correlationId,
    },
    { id: outboxId, dedupeKey: outboxId },
  );
  return { outboxId, tokenHash: tokenHash(mailToken(key, outboxId)) };
}
