import { randomBytes, verify } from 'node:crypto';
import { Refusal, invalid, notFound } from './refusal.ts';
import type { FakeApp, FakeInstallation, FakeToken, HostState } from './state.ts';

const maxLifeSeconds = 600;

interface Claims {
  readonly iss?: unknown;
  readonly iat?: unknown;
  readonly exp?: unknown;
}

/** The App that a JWT shows. It refuses what the host refuses: another algorithm, a bad signature, times that do not suit the host's clock. */
export function appOfJwt(state: HostState, authorization: string | undefined): FakeApp {
  const [head = '', body = '', signature = ''] = (authorization ?? '').replace(/^(?:Bearer|token) /i, '').split('.');
  const claims: Claims = parsed(body);
  const app = state.apps.find(({ id }) => String(id) === String(claims.iss));
  const isSigned =
    app !== undefined &&
    Reflect.get(parsed(head), 'alg') === 'RS256' &&
    verify('RSA-SHA256', Buffer.from(`${head}.${body}`), app.publicKey, Buffer.from(signature, 'base64url'));
  if (!isSigned) throw new Refusal(401, 'A JSON web token could not be decoded');

  const now = state.now().getTime() / 1_000;
  if (typeof claims.iat !== 'number' || claims.iat > now)
    throw new Refusal(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued");
  if (typeof claims.exp !== 'number' || claims.exp <= now)
    throw new Refusal(
      401,
      "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    );
  if (claims.exp - now > maxLifeSeconds) throw new Refusal(401, "'Expiration time' claim ('exp') is too far in the future");
  return app;
}

function parsed(part: string): object {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString());
  } catch {
    return {};
  }
}

export function installationOf(state: HostState, app: FakeApp, id: number): FakeInstallation {
  const found = state.installations.find((each) => each.id === id && each.appId === app.id);
  if (!found) throw notFound();
  return found;
}

/** A new token, narrowed as it was asked for. */
export function mintToken(state: HostState, installation: FakeInstallation, asked: Record<string, any>): FakeToken {
  if (installation.suspendedAt !== null) throw new Refusal(403, 'This installation has been suspended');
  const granted = state.repositories.filter(({ id }) => installation.repositoryIds.has(id));
  const names: string[] | undefined = asked['repositories'];
  const ids: number[] | undefined = asked['repository_ids'];
  const chosen = granted.filter(
    ({ id, name }) => (ids?.includes(id) ?? true) && (names?.some((each) => each.toLowerCase() === name.toLowerCase()) ?? true),
  );
  const wanted = (ids?.length ?? 0) + (names?.length ?? 0);
  if (wanted > 0 && chosen.length < wanted)
    throw invalid('There is at least one repository that does not exist or is not accessible to the parent installation.');
  const permissions: Record<string, string> = asked['permissions'] ?? installation.permissions;
  for (const [name, level] of Object.entries(permissions))
    if (name !== 'metadata' && !allows(installation.permissions[name], level))
      throw invalid('The permissions requested are not granted to this installation.');
  const token: FakeToken = {
    token: `ghs_${randomBytes(27).toString('base64url').replace(/[-_]/g, 'x')}`,
    installation,
    repositoryIds: new Set(chosen.map(({ id }) => id)),
    permissions: { metadata: 'read', ...permissions },
    expiresAtMs: state.now().getTime() + state.tokenLifeMs,
  };
  state.tokens.set(token.token, token);
  return token;
}

export function allows(held: string | undefined, wanted: string): boolean {
  return held === wanted || held === 'admin' || (held === 'write' && wanted === 'read');
}

/** The token of a request: `Bearer` or `token` for the API, Basic for git. 401 for one that is unknown or has expired. */
export function tokenOf(state: HostState, authorization: string | undefined): FakeToken {
  const [scheme = '', value = ''] = (authorization ?? '').split(' ');
  const text = scheme.toLowerCase() === 'basic' ? (Buffer.from(value, 'base64').toString().split(':')[1] ?? '') : value;
  const found = state.tokens.get(text);
  if (!found || found.expiresAtMs <= state.now().getTime()) throw new Refusal(401, 'Bad credentials');
  if (found.installation.suspendedAt !== null) throw new Refusal(403, 'This installation has been suspended');
  return found;
}
