import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { fail } from '../workflows/contracts/failure.ts';
import type { MailSettings } from './config/process-settings.ts';

/** One mail to one reader. */
export interface Mail {
  /** Names it for ever: a second try carries the same Message-ID, so that mailboxes can tell. A uuid. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** What the mail server said: it took the mail, or it never will (a reply of 5xx to sender, reader or content). */
export type MailReply = { readonly isTaken: true } | { readonly isTaken: false; readonly code: number | null };

/** The way out for mails. */
export interface Mailer {
  /**
   * Hands one mail over. The signal ends the try and its connection: a server whose replies drip keeps none of the timeouts below from starting anew.
   * @throws `upstream_failed` or `upstream_timeout` when another try may succeed; without the server's words, which name addresses.
   */
  send(mail: Mail, signal: AbortSignal): Promise<MailReply>;
}

// Together below the 30 s that a try may take.
const timeouts = { dnsTimeout: 5_000, connectionTimeout: 8_000, greetingTimeout: 8_000, socketTimeout: 15_000, socketCloseTimeout: 1_000 };

/** Mails by SMTP, or as readable files in a folder, each named by its id. */
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
          // RFC 3834: nobody's absence assistant should answer.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        });
        return { isTaken: true };
      } catch (error) {
        return replyOrThrow(signal.aborted ? { code: 'ETIMEDOUT' } : error);
      }
    },
  };
}

/** Only what was said of sender, reader or content is final: a server that refuses our password may be told a better one. */
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

/** For machines without a mail server: `<id>.eml`, plain text as a person reads it and any mail program opens it. Ids sort by time. */
function folderMailer(folder: string, from: string): Mailer {
  return {
    async send(mail) {
      const file = join(folder, `${mail.id}.eml`);
      const temporary = `${file}.${process.pid}.tmp`;

      try {
        // The tokens in it are for its owner's eyes.
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

/** RFC 5322 with UTF-8 in its headers (RFC 6532): nothing encoded, so that it can be read and copied from. */
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

/** A name out of a row must not become a header of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
