import { findConnection } from '../../db/mcp/connection-queries.ts';
import { findReturned } from '../../db/mcp/consent-queries.ts';
import { beginConsent, endConsent, storeExchanged } from '../../domain/mcp/consents.ts';
import { EgressRefused, EgressUnreachable } from '../../ports/egress/egress.ts';
import type { McpError } from '../../ports/mcp/errors.ts';
import { askConsent, exchangeCode, McpOauthError } from '../../ports/mcp/oauth.ts';
import type { ActivityDeps } from '../deps.ts';
import type { McpAsker } from './credentials.ts';

export interface ConsentDeps extends Pick<ActivityDeps, 'egress'> {
  readonly keys: Pick<ActivityDeps['keys'], 'keks'>;
  readonly env: Pick<ActivityDeps['env'], 'mcpRedirectUri'>;
}

/** A link is valid for ten minutes when the person is present. */
const linkS = 600;

/**
 * Exchanges the code of a consent that has come back, if there is one. The exchange uses up the code: if it is interrupted, the sync asks for a new consent.
 * False: no consent has come back. Throws McpOauthError when the authorization server refuses.
 */
export async function exchangeReturned(deps: ConsentDeps, asker: McpAsker): Promise<boolean> {
  const { toolkit, principal, transact } = asker;
  if (toolkit.config.auth.type !== 'oauth') return false;
  const { connection, returned } = await transact(async (tx) => {
    const found = await findConnection(tx, toolkit.id, principal);
    return { connection: found, returned: found && (await findReturned(tx, deps.keys, found.id)) };
  });
  if (connection === null || returned === null || returned.consent.code === null) return false;

  const { at, client, verifier, redirectUri, scopes, code } = returned.consent;
  const tokens = await exchangeCode({ ...deps, ...asker }, { at, client, code, verifier, redirectUri }).catch(async (error: unknown) => {
    if (error instanceof McpOauthError && error.isRefusal) await transact((tx) => endConsent(tx, returned.stateHash));
    throw error;
  });
  const grant = { at, client, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken };
  const exchanged = { ...connection, grant, scopes: tokens.scopes ?? scopes, lifeS: tokens.lifeS, stateHash: returned.stateHash };
  await transact((tx) => storeExchanged(tx, deps.keys, exchanged));
  return true;
}

/** The message about a consent, and whether one is under way. */
export interface AskedConsent {
  readonly told: string;
  readonly isBegun: boolean;
}

/** The server requires authorization: where OAuth can provide it, a consent is begun whose link is valid for `lifeS`. */
export async function consentNeeded(deps: ConsentDeps, asker: McpAsker, refusal: McpError, lifeS = linkS): Promise<AskedConsent> {
  const { toolkit, principal, transact } = asker;
  const { auth, url } = toolkit.config;
  if (auth.type !== 'oauth') return without('The server does not accept the credentials of the toolkit.');
  if (auth.mode === 'per_user' && principal.kind !== 'user')
    return without('Each user has their own grant for this toolkit; a user must request the sync.');
  const redirectUri = deps.env.mcpRedirectUri;
  if (redirectUri === null) return without('The server asks for consent, but this deployment has no MCP_OAUTH_REDIRECT_URI.');

  try {
    const { challenge } = refusal;
    const asked = await askConsent({ ...deps, ...asker }, { url, challenge, clientId: auth.client_id, scopes: auth.scopes, redirectUri });
    const { at, client, verifier, scopes } = asked;
    const consent = { at, client, verifier, redirectUri, scopes, code: null };
    const begun = { toolkit, principal, state: asked.state, consent, url: asked.url, lifeS };
    const isBegun = await transact((tx) => beginConsent(tx, deps.keys, begun));
    if (!isBegun) return without('The address or the credentials of the toolkit changed during the sync.');
    return {
      told: 'The server asks for consent: open authorization_url of the status, then sync again with code and state.',
      isBegun: true,
    };
  } catch (error) {
    if (error instanceof McpOauthError || error instanceof EgressRefused || error instanceof EgressUnreachable)
      return without(`The server asks for consent, which cannot be obtained: ${error.message}`);
    throw error;
  }
}

function without(told: string): AskedConsent {
  return { told, isBegun: false };
}
