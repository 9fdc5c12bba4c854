import { getDomain } from 'tldts';
import { listIn, member, textOf } from './members.ts';
import type { MailSignature, ReadMail } from './mail-work.ts';
import { domainOf } from './mail-text.ts';

/** A relay's results of SPF and DKIM for a mail, each with the domain for which it holds; null: it does not name the domain. */
export interface RelayVerdict {
  readonly spf: readonly RelayPass[];
  readonly dkim: readonly RelayPass[];
}

interface RelayPass {
  readonly domain: string | null;
}

/** Returns the passes in `{spf, dkim}` of a relay: `"pass"`, `{result, domain}`, or a list of these. Any other value is no pass. */
export function verdictOf(body: unknown): RelayVerdict {
  return { spf: passesIn(body, 'spf'), dkim: passesIn(body, 'dkim') };
}

function passesIn(body: unknown, name: string): RelayPass[] {
  const found = member(body, name);
  const list = Array.isArray(found) ? listIn(body, name).slice(0, 20) : [found];
  return list.flatMap((one) => {
    const result = typeof one === 'string' ? one : textOf(one, 'result');
    if (result.toLowerCase() !== 'pass') return [];
    const domain = textOf(one, 'domain').toLowerCase();
    return [{ domain: domain === '' ? null : domain }];
  });
}

/** Whether a domain is aligned with an author: both belong to one registered domain (relaxed alignment, RFC 7489 §3.1). */
export function isAligned(domain: string, author: string): boolean {
  const own = domainOf(author);
  if (own === '' || domain === '') return false;
  return domain === own || registered(domain) === registered(own);
}

/** A name without a public suffix is its own registered domain. */
function registered(domain: string): string {
  return getDomain(domain, { allowPrivateDomains: true, allowIcannDomains: true }) ?? domain;
}

/**
 * Whether the relay's results prove the author of a mail. A result without a domain holds for the domain that the mail itself names: SPF for that of the one
 * Return-Path, DKIM where all signatures are of the author's domain. A pass for another domain proves nothing.
 */
export function isVouchedFor({ from, returnPath, signatures }: ReadMail, { spf, dkim }: RelayVerdict): boolean {
  if (from === null) return false;
  const author = from.address;
  const envelope = returnPath === null ? '' : domainOf(returnPath);
  const areAllOwn = signatures.length > 0 && signatures.every(({ domain }) => isAligned(domain, author));
  if (spf.some(({ domain }) => isAligned(domain ?? envelope, author))) return true;
  return dkim.some(({ domain }) => (domain === null ? areAllOwn : isAligned(domain, author)));
}

const maxVerified = 3;

/** Returns the signatures that could prove the author, and whose keys are therefore worth fetching. */
export function provingSignatures({ from, signatures }: ReadMail): readonly MailSignature[] {
  return from === null ? [] : signatures.filter(({ domain }) => isAligned(domain, from.address)).slice(0, maxVerified);
}
