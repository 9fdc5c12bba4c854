import { isPrivateScheme } from './private-schemes.ts';

const lengthMax = 2_048;
// The characters of a URI (RFC 3986 §2); a browser would silently rewrite or drop all others.
const uriCharacters = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;
const webForm = /^https?:\/\/([^/?]+)(?:[/?].*)?$/;
const loopbackHost = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/**
 * Why a text can't be a redirect URI; null when it can: https, http on a loopback literal or `localhost`, or a private scheme with a slash after its colon (RFC
 * 8252 §7); absolute, without fragment and userinfo. The same rule applies to registration, documents, operators and authorization.
 */
export function faultOfRedirectUri(text: string): string | null {
  if (text.length > lengthMax) return 'is too long';
  if (!uriCharacters.test(text) || !URL.canParse(text)) return 'is not an absolute URI';
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);

  if (url.username !== '' || url.password !== '' || /^[a-z0-9.+-]+:\/\/[^/?]*@/i.test(text)) return 'must not contain a user or password';
  if (scheme === 'https') return isPlainHost(text, url) ? null : 'has a host that is not in canonical form';
  if (scheme === 'http') return isPlainHost(text, url) && isLoopback(url) ? null : 'must be https, or http on a loopback address';
  return isPrivateScheme(scheme) && text.startsWith(`${scheme}:/`)
    ? null
    : "must be https, http on a loopback address, or an application's own scheme with a slash after its colon";
}

/** Whether a redirect is among the registered ones: with the same characters; on a loopback address the port may differ (RFC 8252 §7.3). */
export function isRegisteredRedirect(asked: string, registered: readonly string[]): boolean {
  if (faultOfRedirectUri(asked) !== null) return false;
  return registered.some((uri) => uri === asked || (isLoopbackUri(uri) && isLoopbackUri(asked) && withoutPort(uri) === withoutPort(asked)));
}

/** Whether a redirect leads to the user's own machine. */
export function isLoopbackUri(text: string): boolean {
  return URL.canParse(text) && text.startsWith('http://') && isLoopback(new URL(text));
}

/** Whether a redirect leads to an application by a private scheme, which any other application on the device may have registered too (RFC 8252 §8.1). */
export function isPrivateUri(text: string): boolean {
  return !/^https?:/.test(text);
}

/** A short name of a redirect: its host, or the private scheme. */
export function hostOfRedirect(text: string): string {
  const url = new URL(text);
  return isPrivateUri(text) ? url.protocol : url.host;
}

/** The part of a redirect that people see: its host, or all of it under a private scheme, whose host means nothing. */
export function shownRedirect(text: string): string {
  return isPrivateUri(text) ? text : hostOfRedirect(text);
}

/** A redirect URI with the answer added to its query; existing parameters stay as they are. */
export function withAnswer(redirectUri: string, answer: Readonly<Record<string, string | null>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(answer)) if (value !== null) given.set(name, value);
  const start = redirectUri.indexOf('?');
  const isOpen = start === redirectUri.length - 1 || redirectUri.endsWith('&');
  const joint = start < 0 ? '?' : isOpen ? '' : '&';
  return `${redirectUri}${joint}${given.toString()}`;
}

function isLoopback(url: URL): boolean {
  return loopbackHost.test(url.hostname);
}

// In any other form (127.1, an escaped letter) the exact comparison and the user would see another host than the browser.
function isPlainHost(text: string, url: URL): boolean {
  const [, authority = ''] = webForm.exec(text) ?? [];
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  // A pattern can never match: redirects are compared character by character.
  if (host.includes('*')) return false;
  return host.toLowerCase() === url.hostname && authority !== '' && (port === undefined || Number(port) > 0);
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[::1\]|[^/?:]+)):\d+/, '$1');
}
