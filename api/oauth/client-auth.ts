import { findClient, type FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { isClientSecret } from '../../db/oauth/client-secrets.ts';
import { clientRefused, oauthFail } from '../http/credentials/oauth-failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';

/** The client id that a request claims, and its secret; null for none. */
interface Claim {
  readonly clientId: string;
  readonly secret: string | null;
}

interface ClientFields {
  readonly client_id?: string;
  readonly client_secret?: string;
}

const clientIdMax = 1_024;

/**
 * Returns the client of a token, revocation or introspection request, by its secret in header or form, or by its id alone if it is public (RFC 6749 §2.3).
 * Throws 401 `invalid_client` for an unknown client, a wrong or missing secret and a malformed header, and 400 `invalid_request` for no or two authentications.
 */
export async function authenticateClient(asked: IdentifyRequest, fields: ClientFields): Promise<FoundClient> {
  const { deps, limits, limitAddress } = asked;
  const client = await provenClient(deps, readClaim(asked.rawHeaders, fields));

  await limits.consume([{ policy: 'oauth_token', key: limitKeyOf(client, limitAddress) }]);
  if (!client) throw clientRefused();
  deps.identity.uses.record('oauth_client', client.id, client.lastUsedAt);
  return client;
}

async function provenClient({ db, keys }: IdentifyRequest['deps'], { clientId, secret }: Claim): Promise<FoundClient | null> {
  const client = clientId.length <= clientIdMax && !clientId.includes('\u0000') ? await findClient(db, clientId) : null;

  if (!client || client.isDeleted || client.isHomeGone || (secret === null) !== (client.authMethod === 'none')) return null;
  return secret === null || isClientSecret(secret, client.secretHash, keys.peppers) ? client : null;
}

// Client ids are public: a request that only names a client, without proof, must not use up the quota of that client.
function limitKeyOf(client: FoundClient | null, address: string): string {
  if (!client) return `address:${address}`;
  return client.authMethod === 'none' ? `${client.id}:${address}` : client.id;
}

function readClaim(rawHeaders: readonly string[], fields: ClientFields): Claim {
  const [header, second] = authorizationsIn(rawHeaders);

  if (second !== undefined) throw oauthFail('invalid_request', 'The request has more than one Authorization header.');
  if (header !== undefined && fields.client_secret !== undefined)
    throw oauthFail('invalid_request', 'The client authenticates in two ways at once.');
  if (header !== undefined) {
    const claim = readBasic(header);
    if (fields.client_id !== undefined && fields.client_id !== claim.clientId)
      throw oauthFail('invalid_request', 'client_id does not match the authenticated client.');
    return claim;
  }
  if (fields.client_id === undefined) throw oauthFail('invalid_request', 'The request has neither client authentication nor a client_id.');
  return { clientId: fields.client_id, secret: fields.client_secret ?? null };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function readBasic(header: string): Claim {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');

  if (colon < 1 || !pair.isWellFormed() || pair.includes('\ufffd')) throw clientRefused();
  return { clientId: formDecoded(pair.slice(0, colon)), secret: formDecoded(pair.slice(colon + 1)) };
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw clientRefused();
  }
}

// Read from the raw headers, because Node silently drops a second Authorization.
function authorizationsIn(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization').map((value) => value.trim());
}
