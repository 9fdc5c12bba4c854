import EmailReplyParser from 'email-reply-parser';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import PostalMime, { addressParser, type Address, type Attachment, type Email } from 'postal-mime';
import { htmlToMarkdown } from '../parsing/formats/html-markdown.ts';
import { maxFiles } from './inbound.ts';
import { autoReasonOf } from './mail-origin.ts';
import { boundedHeader, domainOf, idsIn, isMailAddress } from './mail-text.ts';

/** What to do with a mail: read its content, or find which of its signatures are valid. */
export type MailJob =
  | {
      readonly kind: 'read';
      readonly raw: Uint8Array;
      /** For a mail on which full reading takes too long: HTML is left out, and no text counts as a quotation. */ readonly isPlain?: boolean;
    }
  | {
      readonly kind: 'verify';
      readonly raw: Uint8Array;
      /** TXT records by name; null: there are none. */
      readonly keys: Readonly<Record<string, readonly string[] | null>>;
      readonly nowMs: number;
    };

export interface MailAddress {
  readonly address: string;
  readonly name: string | null;
}

/** A signature (RFC 6376): its domain, and the name of its key record. */
export interface MailSignature {
  readonly domain: string;
  readonly keyName: string;
}

export interface MailFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** The content of a mail. */
export interface ReadMail {
  /** Its one author (RFC 5322 §3.6.2); null: none, or several. */
  readonly from: MailAddress | null;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly messageId: string | null;
  readonly references: readonly string[];
  readonly inReplyTo: readonly string[];
  /** The envelope's return path, as the last server noted it; null: missing or ambiguous. */
  readonly returnPath: string | null;
  readonly text: string;
  /** The text without quotations and signature. */
  readonly newText: string;
  /** Why a program must have sent it; null: nothing says so. */
  readonly autoReason: string | null;
  readonly signatures: readonly MailSignature[];
  readonly files: readonly MailFile[];
}

export type MailResult =
  | { readonly kind: 'read'; readonly mail: ReadMail }
  | { readonly kind: 'verify'; readonly domains: readonly string[] };

const maxAddresses = 200;
const maxSignatures = 10;
const maxTextChars = 200_000;

/** Reads a mail (RFC 5322, MIME), or verifies its signatures. Runs in a child of the pool; throws the parser's error for bytes that are no mail. */
export async function work(job: MailJob): Promise<MailResult> {
  if (job.kind === 'verify') return { kind: 'verify', domains: await validDomains(job) };
  const email = await PostalMime.parse(job.raw, { maxNestingDepth: 50, maxHeadersSize: 262_144, forceRfc822Attachments: true });
  const text = textOf(email, job.isPlain === true).slice(0, maxTextChars);
  const mail: ReadMail = {
    from: authorOf(email),
    to: addressesOf(email.to),
    cc: addressesOf(email.cc),
    subject: boundedHeader(email.subject ?? ''),
    messageId: idsIn(email.messageId ?? '')[0] ?? null,
    references: idsIn(email.references ?? ''),
    inReplyTo: idsIn(email.inReplyTo ?? ''),
    returnPath: returnPathOf(email),
    text,
    newText: job.isPlain === true ? text : new EmailReplyParser().parseReply(text).trim(),
    autoReason: autoReasonOf(email.headers, email.from?.address ?? ''),
    signatures: signaturesOf(email),
    files: filesOf(email.attachments),
  };
  return { kind: 'read', mail };
}

function textOf({ text, html }: Email, isPlain: boolean): string {
  const plain = (text ?? '').replaceAll(/\r\n?/g, '\n').trim();
  if (plain !== '' || isPlain) return plain;
  return htmlToMarkdown(html ?? '', { isPage: false }).markdown.trim();
}

function authorOf({ headers }: Email): MailAddress | null {
  const found = headers.filter(({ key }) => key === 'from').flatMap(({ value }) => addressParser(value, { flatten: true }));
  const [author, ...more] = found;
  if (author?.address === undefined || more.length > 0 || !isMailAddress(author.address) || domainOf(author.address) === '') return null;
  return { address: author.address.toLowerCase(), name: boundedHeader(author.name).slice(0, 200) || null };
}

function addressesOf(list: readonly Address[] | undefined): string[] {
  return (list ?? [])
    .flatMap(({ address, group }) => (address === undefined ? (group ?? []).map((member) => member.address) : [address]))
    .slice(0, maxAddresses)
    .map((address) => address.toLowerCase());
}

/** Counts only when the mail has one such header; of several, one is of the last server and the others come from a sender. */
function returnPathOf({ headers }: Email): string | null {
  const [first, ...more] = headers.filter(({ key }) => key === 'return-path');
  return first === undefined || more.length > 0 ? null : first.value.trim().replace(/^<|>$/g, '').toLowerCase();
}

function signaturesOf({ headers }: Email): MailSignature[] {
  return headers
    .filter(({ key }) => key === 'dkim-signature')
    .slice(0, maxSignatures)
    .flatMap(({ value }) => {
      const tags = new Map(value.split(';').map((tag) => [tag.split('=')[0]?.trim() ?? '', tag.slice(tag.indexOf('=') + 1).trim()]));
      const [domain, selector] = [(tags.get('d') ?? '').toLowerCase(), tags.get('s') ?? ''];
      const keyName = `${selector}._domainkey.${domain}`;
      return /^[\w-]+(?:\.[\w-]+)+$/.test(keyName) && keyName.length <= 253 ? [{ domain, keyName: keyName.toLowerCase() }] : [];
    });
}

/** Attachments come before images of the text. */
function filesOf(attachments: readonly Attachment[]): MailFile[] {
  return attachments
    .toSorted((left, right) => Number(left.related ?? false) - Number(right.related ?? false))
    .slice(0, maxFiles)
    .map(({ filename, mimeType, content }) => ({
      name: filename ?? (mimeType === 'message/rfc822' ? 'message.eml' : 'file'),
      mediaType: mimeType,
      bytes: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content),
    }));
}

/**
 * Returns the domains whose signatures are valid for the whole mail. Strict as in RFC 6376 and RFC 8301: the author is signed, no signature has expired, no key
 * is weak.
 */
async function validDomains({ raw, keys, nowMs }: Extract<MailJob, { kind: 'verify' }>): Promise<string[]> {
  const resolver = async (name: string): Promise<string[][]> => {
    const records = keys[name.toLowerCase()];
    if (!records) throw Object.assign(new Error('no key'), { code: 'ENOTFOUND' });
    return records.map((record) => [record]);
  };
  const { results } = await dkimVerify(Buffer.from(raw), { strict: true, resolver, curTime: new Date(nowMs) });
  return results
    .filter(({ status }) => status.result === 'pass' && !status.underSized)
    .map(({ signingDomain }) => String(signingDomain).toLowerCase());
}
