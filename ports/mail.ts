import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { fail } from '../workflows/contracts/failure.ts';
import type { MailSettings } from './config/process-settings.ts';

/** One mail to one reader. */
export interface Mail {
  /** Permanent id, a uuid: a second try carries the same Message-ID, so that mailboxes recognize it. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The mail server's reply: it accepted the mail, or never will (a 5xx reply to sender, reader or content). */
export type MailReply = { readonly isTaken: true } | { readonly isTaken: false; readonly code: number | null };

/** Sends mails. */
export interface Mailer {
  /**
   * Sends one mail. The signal ends the try and its connection: a server with slow, partial replies would restart the timeouts below again and again.
   * @throws `upstream_failed` or `upstream_timeout` when another try may succeed; without the server's message, which names addresses.
   */
  send(mail: Mail, signal: AbortSignal): Promise<MailReply>;
}

// Together less than the 30 s that a try may take.
const timeouts = { dnsTimeout: 5_000, connectionTimeout: 8_000, greetingTimeout: 8_000, socketTimeout: 15_000, socketCloseTimeout: 1_000 };

/** Sends mails by SMTP, or writes them as readable files to a folder, each named by its id. */
export function createMailer(settings: MailSettings): Mailer {
  switch (settings.kind) {
    case 'smtp':
      return smtpMailer(settings.url, settings.from);
    case 'folder':
      return folderMailer(settings.folder, settings.from);
    default:
      return settings satisfies never;
  }
}

function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({ url, ...timeouts, disableFileAccess: true, disableUrlAccess: true });

  return {
    async send({ id, to, subject, text, html }, signal) {
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject: oneLine(subject),
          text,
          html,
          signal,
          messageId: messageIdOf(id, from),
          // RFC 3834: no auto-responder should answer.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        });
        return { isTaken: true };
      } catch (error) {
        return replyOrThrow(signal.aborted ? { code: 'ETIMEDOUT' } : error);
      }
    },
  };
}

/** Only a refusal of sender, reader or content is final: a server that refuses our password may get a correct one later. */
function replyOrThrow(error: unknown): MailReply {
  const code = fieldOf(error, 'code');
  const replied = fieldOf(error, 'responseCode');
  const smtpCode = typeof replied === 'number' ? replied : null;
  const isAboutMail = code === 'EENVELOPE' || code === 'EMESSAGE';

  if (isAboutMail && (smtpCode === null || smtpCode >= 500)) return { isTaken: false, code: smtpCode };
  const reason = typeof code === 'string' ? code.toLowerCase() : 'unknown';
  const context = { reason, ...(smtpCode === null ? {} : { smtp_code: smtpCode }) };

  throw code === 'ETIMEDOUT'
    ? fail('upstream_timeout', { detail: 'The mail server did not answer in time.', context })
    : fail('upstream_failed', { detail: `The mail server could not take the mail (${smtpCode ?? reason}).`, context });
}

function fieldOf(error: unknown, name: 'code' | 'responseCode'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}

/** For machines without a mail server: `<id>.eml`, plain text that a person can read and any mail program opens. Ids sort by time. */
function folderMailer(folder: string, from: string): Mailer {
  return {
    async send(mail) {
      const file = join(folder, `${mail.id}.eml`);
      const temporary = `${file}.${process.pid}.tmp`;

      try {
        // Only the owner may read the tokens in it.
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(temporary, readable(mail, from), { mode: 0o600 });
        await rename(temporary, file);
      } catch (error) {
        const reason = String(fieldOf(error, 'code') ?? 'unknown').toLowerCase();
        throw fail('upstream_failed', { detail: `The folder for mails cannot be written (${reason}).`, context: { reason } });
      }
      return { isTaken: true };
    },
  };
}

/** RFC 5322 with UTF-8 in its headers (RFC 6532): nothing is encoded, so that it can be read and copied from. */
function readable({ id, to, subject, text }: Mail, from: string): string {
  const headers = [
    ['From', from],
    ['To', to],
    ['Subject', subject],
    ['Date', new Date().toUTCString().replace('GMT', '+0000')],
    ['Message-ID', messageIdOf(id, from)],
    ['Auto-Submitted', 'auto-generated'],
    ['MIME-Version', '1.0'],
    ['Content-Type', 'text/plain; charset=utf-8'],
    ['Content-Transfer-Encoding', '8bit'],
  ];
  return `${headers.map(([name = '', value = '']) => `${name}: ${oneLine(value)}`).join('\n')}\n\n${text}\n`;
}

function messageIdOf(id: string, from: string): string {
  const [, domain = 'longhaul.invalid'] = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from) ?? [];
  return `<${id}@${domain}>`;
}

/** A name from a row must not start another header. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
