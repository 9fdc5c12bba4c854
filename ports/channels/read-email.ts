import { createHash } from 'node:crypto';
import type { ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';
import { boundedText, type BroughtFile, type InboundMessage } from './inbound.ts';
import { boundedReferences, partIdOf, replySubject } from './mail-text.ts';
import type { MailAddress, ReadMail } from './mail-work.ts';

/** What is known about a mail besides its text. */
export interface JudgedMail {
  readonly mail: ReadMail & { readonly from: MailAddress };
  readonly raw: Uint8Array;
  /** Whether its author is proven, or the channel requires no proof. */
  readonly isAuthentic: boolean;
  readonly files: readonly BroughtFile[];
  /** Names of files that may not be stored. */
  readonly leftOut: readonly string[];
}

/**
 * Converts a mail to a message. Its thread begins with the first id of References, otherwise with In-Reply-To (RFC 5322 §3.6.4), otherwise with itself. An
 * answer goes only to its author: a service must not follow Reply-To, which may name any address that its sender likes (RFC 3834 §4).
 */
export function readEmail({ mail, raw, isAuthentic, files, leftOut }: JudgedMail, { address = '' }: ChannelSettings): InboundMessage {
  const { from, subject, references, inReplyTo, messageId } = mail;
  const digest = createHash('sha256').update(raw).digest('hex');
  const answered = [...references, ...inReplyTo];
  const externalId = messageId ?? `sha256:${digest}`;
  const isSelf = isSameMailbox(from.address, address);
  const refusal = isAuthentic ? refusalOf(mail) : 'unauthenticated';
  const note = leftOut.length === 0 ? '' : `\n\n[Files that were left out: ${leftOut.join(', ')}]`;
  const headed = subject === '' ? mail.text : `Subject: ${subject}\n\n${mail.text}`;
  return {
    // Prevents a sender from taking the id of another sender's mail beforehand.
    externalId: isAuthentic ? externalId : `unauthenticated:${digest}`,
    threadId: references[0] ?? inReplyTo[0] ?? externalId,
    sender: { id: from.address, name: from.name, isBot: mail.autoReason === 'auto_generated', isSelf },
    isAddressed: isAddressed(mail, address),
    text: boundedText((headed + note).trim()),
    files,
    route: {
      to: from.address,
      subject: replySubject(subject),
      ...(messageId === null ? {} : { message_id: messageId, references: boundedReferences(answered).join(' ') }),
    },
    token: null,
    ...(refusal === null ? {} : { refusal }),
    ...(answered.length === 0 ? {} : { reply: replyOf(answered, boundedText((mail.newText + note).trim())) }),
  };
}

function replyOf(answered: readonly string[], text: string) {
  const to = [...new Set(answered.toReversed())].slice(0, maxAnswered);
  return { to, partIds: to.flatMap((id) => partIdOf(id) ?? []), text };
}

const maxAnswered = 50;

/** An automatic notice, which a channel may want, counts as a message of a bot; the other automatic mails are not answered. */
function refusalOf({ autoReason }: ReadMail): string | null {
  return autoReason === 'auto_generated' ? null : autoReason;
}

/** A channel that only gets a copy is not addressed. When no header names it, the mail came through another of its addresses, or as Bcc. */
function isAddressed({ to, cc }: ReadMail, address: string): boolean {
  const isIn = (list: readonly string[]) => list.some((one) => isSameMailbox(one, address));
  return isIn(to) || !isIn(cc);
}

/** Compares mailboxes without case and without plus-address suffixes. */
function isSameMailbox(left: string, right: string): boolean {
  const bare = (address: string) => address.toLowerCase().replace(/\+[^@]*@/, '@');
  return bare(left) === bare(right);
}
