import { createHash } from 'node:crypto';
import { signAppJwt, type HostClock } from './app-jwt.ts';
import { HostError } from './host-error.ts';
import { send, type HostAnswer, type HostParameters, type HostRoute, type SendDeps, type SendOptions } from './send.ts';
import type { AppCredentials } from './app-key.ts';

/** Permissions of a token; tokens of reviews have `reviewPermissions`. */
export type TokenPermissions = NonNullable<HostParameters<'POST /app/installations/{installation_id}/access_tokens'>['permissions']>;

/** Reads code, and writes reviews, comments and checks; never writes code. */
export const reviewPermissions = {
  contents: 'read',
  pull_requests: 'write',
  issues: 'write',
  checks: 'write',
} as const satisfies TokenPermissions;

/** The scope of a token: an installation, narrowed to repositories. */
export interface TokenScope {
  readonly installationId: number;
  /** By id, or by name while the id is unknown; the owner is the installation's. */
  readonly repository: { readonly id: number } | { readonly name: string };
  readonly permissions: TokenPermissions;
}

export interface InstallationToken {
  readonly token: string;
  /** Ids of the repositories that it opens. */
  readonly repositoryIds: readonly number[];
}

export interface AppTokens {
  /** Sends a request as the App. Adopts the host's clock once when the host refuses ours. Throws HostError. */
  asApp<R extends HostRoute>(
    app: AppCredentials,
    request: { readonly route: R; readonly parameters: HostParameters<R> },
    signal: AbortSignal,
  ): Promise<HostAnswer<R>>;
  /** Returns a token, cached in memory until five minutes before it expires. Throws HostError. */
  forInstallation(app: AppCredentials, scope: TokenScope, signal: AbortSignal): Promise<InstallationToken>;
  /** Drops a token that the host has refused. */
  drop(app: AppCredentials, scope: TokenScope): void;
}

interface StoredToken extends InstallationToken {
  /** By `performance.now()`, which cannot be set. */
  readonly untilMs: number;
}

const earlyMs = 5 * 60_000;
const maxKept = 2_000;

/** Tokens of installations, in the memory of this process. */
export function createAppTokens(deps: SendDeps, clock: HostClock): AppTokens {
  const kept = new Map<string, StoredToken>();

  return {
    asApp,
    async forInstallation(app, scope, signal) {
      const key = keyOf(app, scope);
      const found = kept.get(key);
      if (found && found.untilMs > performance.now()) return found;

      const made = await mint(app, scope, signal);
      kept.delete(key);
      kept.set(key, made);
      for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest);
      return made;
    },
    drop: (app, scope) => void kept.delete(keyOf(app, scope)),
  };

  async function asApp<R extends HostRoute>(
    app: AppCredentials,
    request: { readonly route: R; readonly parameters: HostParameters<R> },
    signal: AbortSignal,
  ): Promise<HostAnswer<R>> {
    const attempt = async () => send(deps, request, { ...(await asAppOptions(app)), signal });
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HostError && isAboutTime(error) && clock.correct(error.hostDate))) throw error;
      return attempt();
    }
  }

  async function asAppOptions(app: AppCredentials): Promise<Pick<SendOptions, 'authorization'>> {
    try {
      return { authorization: `Bearer ${await signAppJwt(app, clock)}` };
    } catch {
      // The library's error could quote the key.
      throw new HostError('the private key of the App can not sign', { kind: 'unauthorized' });
    }
  }

  async function mint(
    app: AppCredentials,
    { installationId, repository, permissions }: TokenScope,
    signal: AbortSignal,
  ): Promise<StoredToken> {
    const narrowed = 'id' in repository ? { repository_ids: [repository.id] } : { repositories: [repository.name] };
    const parameters = { installation_id: installationId, ...narrowed, permissions };
    const { data, headers } = await asApp(app, { route: 'POST /app/installations/{installation_id}/access_tokens', parameters }, signal);
    // Both times are the host's: the token's lifetime does not depend on our clock.
    const lifeMs = Date.parse(data.expires_at) - Date.parse(headers.date ?? '');
    return {
      token: data.token,
      repositoryIds: (data.repositories ?? []).map(({ id }) => Number(id)),
      untilMs: performance.now() + (Number.isNaN(lifeMs) ? 0 : lifeMs - earlyMs),
    };
  }
}

/** The private key is part of it: an App with another key proves nothing with a token that this key has obtained. */
function keyOf({ appId, privateKey }: AppCredentials, { installationId, repository, permissions }: TokenScope): string {
  const named = JSON.stringify([appId, privateKey, installationId, repository, Object.entries(permissions).toSorted()]);
  return createHash('sha256').update(named).digest('base64');
}

/** The host's message for a JWT whose times do not fit its clock: "'Expiration time' claim ('exp') …", "'Issued at' claim ('iat') …". */
function isAboutTime(error: HostError): boolean {
  return error.status === 401 && /\('(?:exp|iat)'\)/.test(error.message);
}
