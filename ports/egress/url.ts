import { EgressRefused } from './errors.ts';
import { bareHost, isPublic, literalAddress } from './public-address.ts';

/** An address that an operator has allowed for one organization; `port` null means the scheme's default. */
export interface EgressException {
  readonly host: string;
  readonly port: number | null;
  readonly allow_http: boolean;
}

export interface EgressPolicy {
  /** Deployment-wide `EGRESS_ALLOW_HTTP`. */
  readonly allowHttp: boolean;
  /** The organization's `egress_allowlist`. */
  readonly exceptions: readonly EgressException[];
}

/** What an operator could change, and where. */
const wayOut = "an operator can open it in the organization's egress_allowlist";
export const refusals = {
  plainHttp: `the scheme must be https; for plain http ${wayOut} (allow_http), or set EGRESS_ALLOW_HTTP for the whole deployment`,
  otherPort: `only the standard port of the scheme is allowed; ${wayOut} with host and port`,
  notPublic: `the address is not public; ${wayOut}`,
  mailPort: `the port must be 25, 465, 587 or 2525; ${wayOut} with host and port`,
  plainMail: `the connection must be encrypted (tls); without it the password would be readable, unless ${wayOut} with host, port and allow_http`,
} as const;

/** Checks the address of a page that a person will open: https, or http where the policy allows it. The host is up to the browser. Throws EgressRefused. */
export function checkPageUrl(text: string, policy: EgressPolicy): URL {
  if (!URL.canParse(text)) throw new EgressRefused('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new EgressRefused('the scheme must be https');
  if (url.username !== '' || url.password !== '') throw new EgressRefused('must not contain a user or password');
  if (url.protocol === 'http:' && !policy.allowHttp && !isExcepted(url, policy)) throw new EgressRefused(refusals.plainHttp);
  return url;
}

/** Whether a person may be sent to the address. */
export function isPageUrl(text: string, policy: EgressPolicy): boolean {
  try {
    checkPageUrl(text, policy);
    return true;
  } catch {
    return false;
  }
}

/** Checks scheme, port and form of a target before anything is resolved. Throws EgressRefused. */
export function checkUrlForm(text: string, policy: EgressPolicy): URL {
  const url = checkPageUrl(text, policy);
  if (isExcepted(url, policy)) return url;

  if (url.port !== '') throw new EgressRefused(refusals.otherPort);
  const literal = literalAddress(url.hostname);
  if (literal !== null && !isPublic(literal)) throw new EgressRefused(refusals.notPublic);
  return url;
}

/** Returns why the guard would refuse a target; null: its form is allowed. */
export function refusalOfUrl(text: string, policy: EgressPolicy): string | null {
  try {
    checkUrlForm(text, policy);
    return null;
  } catch (error) {
    if (error instanceof EgressRefused) return error.message;
    throw error;
  }
}

/** Whether an operator has allowed the host and port of a URL. */
export function isExcepted(url: URL, policy: EgressPolicy): boolean {
  const standard = url.protocol === 'https:' ? 443 : 80;
  const port = url.port === '' ? standard : Number(url.port);
  return policy.exceptions.some(
    (exception) =>
      bareHost(exception.host.toLowerCase()) === bareHost(url.hostname) &&
      (exception.port ?? standard) === port &&
      (url.protocol === 'https:' || exception.allow_http),
  );
}

/** A server by name or address. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Ports of mail servers: relay (RFC 5321), submission (RFC 6409), submission over TLS (RFC 8314), and 2525, which hosts offer where 25 is closed. */
const mailPorts: readonly number[] = [25, 465, 587, 2525];

/** Whether an operator has allowed a server that is no web server, by host and port. */
export function isExceptedHost({ host, port }: HostPort, { exceptions }: EgressPolicy, isPlain = false): boolean {
  return exceptions.some(
    (exception) =>
      bareHost(exception.host.toLowerCase()) === bareHost(host.toLowerCase()) &&
      exception.port === port &&
      (!isPlain || exception.allow_http),
  );
}

/** Returns why no connection to a mail server may be opened; null: nothing prevents it before its name is resolved. */
export function refusalOfHost(target: HostPort, policy: EgressPolicy): string | null {
  if (isExceptedHost(target, policy)) return null;
  if (!mailPorts.includes(target.port)) return refusals.mailPort;
  const literal = literalAddress(target.host);
  return literal !== null && !isPublic(literal) ? refusals.notPublic : null;
}

/** Returns why a password may not be sent to a mail server in the clear; null: an operator has allowed it. */
export function refusalOfPlainMail(target: HostPort, policy: EgressPolicy): string | null {
  return policy.allowHttp || isExceptedHost(target, policy, true) ? null : refusals.plainMail;
}

/** Headers that choose another target or break the framing of the message; only we or undici set them. */
const reservedHeaders: readonly string[] = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'keep-alive',
];

/** Whether a tenant may not set this header on an outgoing request. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedHeaders.includes(lower) || lower.startsWith('proxy-');
}
