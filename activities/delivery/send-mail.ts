import { loadMail, settleMail, type MailMessage, type StoredMail } from '../../db/mail.ts';
import { nobodyTenant, organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { markInvitationSent } from '../../domain/tenancy/invitations.ts';
import type { DeliveryActivities, DeliveryInput, DeliveryResult } from '../../workflows/contracts/upkeep/delivery.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { composeMail, type Composed } from './compose.ts';
import { toHtml, toText } from './letter.ts';

/** Less than the 30 s of the activity, so that a try reports its own outcome. */
const maxTryMs = 25_000;

export type DeliveryDeps = Pick<ActivityDeps, 'db' | 'keys' | 'mail' | 'log' | 'metrics'>;

/** Activities of `delivery`. Their logs name the outbox row and the kind of mail, never its receiver. */
export function createDeliveryActivities(deps: DeliveryDeps): DeliveryActivities {
  return { sendMail: (input) => sendMail(deps, input) };
}

async function sendMail(deps: DeliveryDeps, { outboxId }: DeliveryInput): Promise<DeliveryResult> {
  const stored = await sweep(deps.db, (em) => loadMail(em, outboxId));

  if (!stored) return 'void';
  if (stored.message.settled) return stored.message.settled;
  const result = await attempt(deps, outboxId, stored).catch((error: unknown) => {
    deps.metrics.mailTried('failed');
    throw error;
  });

  await settle(deps, { outboxId, message: stored.message, result });
  deps.metrics.mailTried(result);
  deps.log[result === 'refused' ? 'warn' : 'info']({ outbox_id: outboxId, template: stored.message.mail.template, result }, 'mail settled');
  return result;
}

/** Composes the mail anew each time: with the same token, and never when its reason no longer exists. */
async function attempt(deps: DeliveryDeps, outboxId: string, stored: StoredMail): Promise<DeliveryResult> {
  if (!deps.mail) return withoutMailer(stored.message);
  const composed = await composeMail({ db: deps.db, keys: deps.keys, places: deps.mail }, outboxId, stored);

  if (typeof composed === 'string') return composed;
  return handOver(deps.mail, outboxId, composed);
}

/** Mails that only an API with a mailer allows wait until this worker has one, too; all other mails are dropped. */
function withoutMailer({ mail: { template } }: MailMessage): DeliveryResult {
  if (template !== 'invitation' && template !== 'password_set') return 'no_mailer';
  throw fail('upstream_failed', { detail: 'This worker has neither SMTP_URL nor MAIL_DIR.', reason: 'no_mailer' });
}

async function handOver({ mailer }: NonNullable<DeliveryDeps['mail']>, id: string, { to, letter }: Composed): Promise<DeliveryResult> {
  const mail = { id, to, subject: letter.subject, text: toText(letter), html: toHtml(letter) };
  const reply = await mailer.send(mail, deadlineIn(maxTryMs));

  return reply.isTaken ? 'sent' : 'refused';
}

async function settle(
  deps: DeliveryDeps,
  { outboxId, message, result }: { readonly outboxId: string; readonly message: MailMessage; readonly result: DeliveryResult },
): Promise<void> {
  const { organizationId, correlationId, mail } = message;
  const tenant = organizationId === null ? nobodyTenant : organizationTenant(organizationId);

  await transact(deps.db, { tenant, actor: systemActor, correlationId }, async (tx) => {
    const isFirst = await settleMail(tx, outboxId, result);

    if (isFirst && result === 'sent' && mail.template === 'invitation') await markInvitationSent(tx, mail.invitationId);
  });
}
