import { domainToASCII } from 'node:url';

const maxHeaderChars = 500;
const maxIdChars = 300;
const maxReferences = 20;

/** Whether a text is the address of one mail recipient, without a name. An address longer than SMTP allows (RFC 5321 §4.5.3.1.3) is none. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>()[\],;:\\"]{1,64}@[^\s@<>()[\],;:\\"]+$/.test(text);
}

/** Returns the domain of an address, in lower case and ASCII; empty: it has none. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1).toLowerCase());
}

/** Returns the Message-ID (RFC 5322 §3.6.4) of a part that a channel of this address sends. */
export function messageIdOf(partId: string, address: string): string {
  return `<${partId}@${domainOf(address) || 'longhaul.invalid'}>`;
}

const ownForm = /^<([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@/;

/** Returns the part that a Message-ID of ours names; null: it has another form. */
export function partIdOf(messageId: string): string | null {
  return ownForm.exec(messageId)?.[1] ?? null;
}

/** Returns the ids in a header such as References, in order. */
export function idsIn(header: string): string[] {
  return (header.slice(0, 100_000).match(/<[^<>\s]{1,900}>/g) ?? []).filter((id) => id.length <= maxIdChars);
}

/**
 * Returns the References of an answer: those of the mail that it answers, or the first and the last of many (RFC 5322 §3.6.4 asks for all, line lengths limit
 * them).
 */
export function boundedReferences(ids: readonly string[]): readonly string[] {
  return ids.length <= maxReferences ? ids : [...ids.slice(0, 1), ...ids.slice(1 - maxReferences)];
}

/** Returns a text that fits into one header and cannot start another. */
export function boundedHeader(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, maxHeaderChars)
    .toWellFormed();
}

/** Returns the subject of an answer, with `Re:` once. */
export function replySubject(subject: string): string {
  const bare = boundedHeader(subject);
  return /^re\s*:/i.test(bare) ? bare : `Re: ${bare}`.trim();
}
