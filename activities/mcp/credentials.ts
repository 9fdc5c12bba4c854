import { setTimeout as delay } from 'node:timers/promises';
import { findConnection, readGrant, type McpConnectionRow, type McpPrincipal } from '../../db/mcp/connection-queries.ts';
import type { McpGrant } from '../../db/mcp/grant.ts';
import { isStillThere, type McpToolkit } from '../../db/toolkits/mcp-toolkits.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { dropRefreshLease, refuseGrant, storeRefreshed, takeRefreshLease } from '../../domain/mcp/refresh.ts';
import type { Egress, EgressPolicy } from '../../ports/egress/egress.ts';
import { McpError } from '../../ports/mcp/errors.ts';
import { McpOauthError, refreshTokens } from '../../ports/mcp/oauth.ts';

/** Who calls a toolkit's server, and with what dependencies. */
export interface McpAsker {
  readonly toolkit: McpToolkit;
  readonly principal: McpPrincipal;
  readonly policy: EgressPolicy;
  /** Runs a short tenant transaction in the workspace of the toolkit's use. */
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  readonly secret: (name: string) => Promise<string | null>;
  /** Called with each token, so that none appears in an output. */
  readonly conceal?: (name: string, value: string) => void;
  readonly signal: AbortSignal;
}

export interface CredentialDeps {
  readonly egress: Egress;
  readonly keys: Pick<KeyRing, 'keks'>;
}

/** Headers of one use. `version`: of the connection whose token they carry. */
export interface McpCredential {
  readonly headers: Readonly<Record<string, string>>;
  readonly version: number | null;
}

const refreshPatienceMs = 20_000;
const pollMs = 150;

/** Returns the credential that the rows hold now; a token that expires within 10 s is refreshed first. Throws McpError. */
export async function credentialOf(deps: CredentialDeps, asker: McpAsker): Promise<McpCredential> {
  const { auth } = asker.toolkit.config;
  switch (auth.type) {
    case 'none':
      return { headers: {}, version: null };
    case 'bearer':
      return { headers: { authorization: `Bearer ${await valueOf(asker, auth.secret)}` }, version: null };
    case 'headers': {
      const pairs = Object.entries(auth.headers).map(async ([name, secret]) => [name.toLowerCase(), await valueOf(asker, secret)] as const);
      return { headers: Object.fromEntries(await Promise.all(pairs)), version: null };
    }
    case 'oauth':
      return tokenCredential(deps, asker, null);
    default:
      return auth satisfies never;
  }
}

/** After a 401, returns a token other than that of `refused`, refreshed here or by a faster worker. Throws McpError `unauthorized`. */
export function renewedCredential(deps: CredentialDeps, asker: McpAsker, refused: McpCredential): Promise<McpCredential> {
  return tokenCredential(deps, asker, refused.version);
}

async function valueOf(asker: McpAsker, name: string): Promise<string> {
  const value = await asker.secret(name);
  if (value === null) throw new McpError('secret_missing', `the secret ${name} has no value here`);
  return value;
}

async function tokenCredential(deps: CredentialDeps, asker: McpAsker, refused: number | null): Promise<McpCredential> {
  const until = performance.now() + refreshPatienceMs;
  for (;;) {
    asker.signal.throwIfAborted();
    const { connection, grant } = await readConnection(deps, asker);
    if (connection === null || grant === null || connection.state === 'needs_auth') throw unauthorized();
    if (connection.isFresh && connection.rowVersion !== refused) return toCredential(asker, connection, grant);

    if (await asker.transact((tx) => takeRefreshLease(tx, connection))) {
      await refresh(deps, asker, { connection, grant });
    } else if (performance.now() > until) {
      throw unauthorized();
    } else {
      await delay(pollMs, undefined, { signal: asker.signal });
    }
  }
}

function readConnection({ keys }: CredentialDeps, { toolkit, principal, transact }: McpAsker) {
  return transact(async (tx) => {
    // A grant of the new server is never sent to the previous one.
    const connection = (await isStillThere(tx, toolkit)) ? await findConnection(tx, toolkit.id, principal) : null;
    return { connection, grant: connection && (await readGrant(tx, keys, connection)) };
  });
}

interface Held {
  readonly connection: McpConnectionRow;
  readonly grant: McpGrant;
}

/** Refreshes under the lease, outside any transaction. The change of a faster writer to the row stands. */
async function refresh(deps: CredentialDeps, asker: McpAsker, { connection, grant }: Held): Promise<void> {
  const { refreshToken } = grant;
  if (refreshToken === null) {
    await asker.transact((tx) =>
      refuseGrant(tx, connection, 'The access token is not accepted any more, and there is none to refresh it.'),
    );
    throw unauthorized();
  }
  try {
    const tokens = await refreshTokens({ ...deps, ...asker }, { at: grant.at, client: grant.client, refreshToken });
    const fresh = { ...grant, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? refreshToken };
    await asker.transact((tx) =>
      storeRefreshed(tx, deps.keys, { ...connection, grant: fresh, scopes: tokens.scopes, lifeS: tokens.lifeS }),
    );
  } catch (error) {
    if (error instanceof McpOauthError && error.isRefusal) {
      await asker.transact((tx) => refuseGrant(tx, connection, error.message));
      throw unauthorized();
    }
    await asker.transact((tx) => dropRefreshLease(tx, connection));
    throw error;
  }
}

function toCredential({ conceal }: McpAsker, connection: McpConnectionRow, grant: McpGrant): McpCredential {
  conceal?.('oauth', grant.accessToken);
  return { headers: { authorization: `Bearer ${grant.accessToken}` }, version: connection.rowVersion };
}

function unauthorized(): McpError {
  return new McpError('unauthorized', 'the server asks for authorization, and there is no grant that it accepts', { code: 401 });
}
