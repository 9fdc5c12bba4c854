import { domainToASCII } from 'node:url';

const maxHeaderChars = 500;
const maxIdChars = 300;
const maxReferences = 20;

/** An address that can be the reader of a mail: one, without a name. Longer than SMTP takes (RFC 5321 §4.5.3.1.3) is none. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>()[\],;:\\"]{1,64}@[^\s@<>()[\],;:\\"]+$/.test(text);
}

/** The domain of an address, in lower case and ASCII; empty: it has none. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1).toLowerCase());
}

/** The Message-ID (RFC 5322 §3.6.4) of a part that a channel of this address sends. */
export function messageIdOf(partId: string, address: string): string {
  return `<${partId}@${domainOf(address) || 'longhaul.invalid'}>`;
}

const ownForm = /^<([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@/;

/** The part that a Message-ID of ours names; null: it is of another form. */
export function partIdOf(messageId: string): string | null {
  return ownForm.exec(messageId)?.[1] ?? null;
}

/** The ids in a header such as References, in their order. */
export function idsIn(header: string): string[] {
  return (header.slice(0, 100_000).match(/<[^<>\s]{1,900}>/g) ?? []).filter((id) => id.length <= maxIdChars);
}

/** References of an answer: those of what it answers, the first and the last of many (RFC 5322 §3.6.4 asks for all, lines bound them). */
export function boundedReferences(ids: readonly string[]): readonly string[] {
  return ids.length <= maxReferences ? ids : [...ids.slice(0, 1), ...ids.slice(1 - maxReferences)];
}

/** A text that is no more than one header. */
export function boundedHeader(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, maxHeaderChars)
    .toWellFormed();
}

/** The subject of an answer, `Re:` once. */
export function replySubject(subject: string): string {
  const bare = boundedHeader(subject);
  return /^re\s*:/i.test(bare) ? bare : `Re: ${bare}`.trim();
}
