import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import Type from 'typebox';
import { fail } from '../../../workflows/contracts/failure.ts';
import { closed } from '../input/schema.ts';
import { reply, type PrecheckRequest, type Reply } from '../operation/context.ts';
import type { AppDeps } from '../operation/deps.ts';

const headerName = 'x-refresh-cookie';

/** What an operation declares that may put the refresh token into a cookie: the header that asks for it, and where such a request may come from. */
export const mayUseRefreshCookie = {
  headers: closed({
    [headerName]: Type.Optional(
      Type.Literal('1', {
        description:
          'For pages of the same origin: the refresh token is kept in an HttpOnly cookie instead of in bodies. Requests from another origin are 403 with reason `cross_origin`.',
      }),
    ),
  }),
  precheck: refuseOtherOrigins,
} as const;

/** A refresh token's cookie: what the browser sent, and how it is set. */
export interface RefreshCookie {
  readonly name: string;
  readonly isSecure: boolean;
  /** Null unless the request carried exactly one. */
  readonly token: string | null;
}

/** Returns the cookie of a request that asks for it by its header; null for every other request, whatever cookies it carries. */
export function refreshCookieOf({
  deps,
  headers,
}: {
  readonly deps: AppDeps;
  readonly headers: IncomingHttpHeaders;
}): RefreshCookie | null {
  if (headers[headerName] === undefined) return null;
  const { publicUrl } = deps.env;
  const isSecure = publicUrl.startsWith('https://');
  const name = `${isSecure ? '__Host-' : ''}lh_rt_${deploymentTag(publicUrl)}`;
  return { name, isSecure, token: valueOf(headers.cookie ?? '', name) };
}

/** Moves the refresh token of a view into the cookie, if the request asked for it. A view without one leaves the cookie as it is. */
export function inRefreshCookie<V extends { readonly refresh_token: string | null; readonly refresh_expires_at: string | null }>(
  { deps }: { readonly deps: AppDeps },
  cookie: RefreshCookie | null,
  view: V,
): Reply<V> {
  const { refresh_token: token, refresh_expires_at: expiresAt } = view;
  if (cookie === null || token === null || expiresAt === null) return reply(view);
  const lifeS = Math.max(0, Math.floor((Date.parse(expiresAt) - deps.now().getTime()) / 1_000));
  return reply({ ...view, refresh_token: null }, { headers: setting(cookie, token, lifeS) });
}

/** The header that deletes the cookie. */
export function clearedCookie(cookie: RefreshCookie): Readonly<Record<string, string>> {
  return setting(cookie, '', 0);
}

function setting({ name, isSecure }: RefreshCookie, value: string, lifeS: number): Readonly<Record<string, string>> {
  return { 'set-cookie': `${name}=${value}; Max-Age=${lifeS}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}` };
}

/** 403 for a request that asks for the cookie from another origin; a browser that does not say so by Fetch Metadata sends an Origin with every POST. */
async function refuseOtherOrigins({ headers }: PrecheckRequest): Promise<void> {
  if (headers[headerName] === undefined || isSameOrigin(headers)) return;
  throw fail('resource_forbidden', {
    reason: 'cross_origin',
    detail: 'X-Refresh-Cookie is only accepted from pages of the same origin as the API.',
  });
}

function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const origin = urlOf(headers.origin ?? '');
  // A default port may be written out in one of the two.
  return origin !== null && urlOf(`${origin.protocol}//${headers.host ?? ''}`)?.host === origin.host;
}

function urlOf(text: string): URL | null {
  const url = URL.parse(text);
  return url === null || url.host === '' ? null : url;
}

/** Cookies don't distinguish ports (RFC 6265 §8.5): deployments beside each other on one host must not overwrite each other's. */
function deploymentTag(publicUrl: string): string {
  return createHash('sha256').update(publicUrl).digest('hex').slice(0, 8);
}

/** Two cookies of one name, which only something else on the host can have planted, count as none. */
function valueOf(header: string, name: string): string | null {
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value = '', ...others] = values;
  return value === '' || others.some((other) => other !== value) ? null : value;
}
