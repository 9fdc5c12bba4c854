import { invalid } from '../../../workflows/contracts/failure.ts';

/** The domains to which an organization restricts the addresses of its people. */
interface EmailDomains {
  readonly emailDomains: readonly string[];
}

/** Throws 422 for a normalized address outside of the organization's domains; if none are set, any address is accepted. */
export function refuseDomain(email: string, { emailDomains }: EmailDomains): void {
  if (!allowsDomain(email, { emailDomains }))
    throw invalid('/email', 'email_domain', 'the organization admits no addresses of this domain');
}

/** Whether a normalized address lies in the organization's domains; if none are set, any address does. */
export function allowsDomain(email: string, { emailDomains }: EmailDomains): boolean {
  if (emailDomains.length === 0) return true;
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return emailDomains.some((allowed) => allowed.normalize('NFC').toLowerCase() === domain);
}
