import { randomBytes } from 'node:crypto';
import {
  checkResourceAllowed,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  OAuthError,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  startAuthorization,
  type AuthorizationServerMetadata,
  type FetchLike,
  type OAuthServerInfo,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import { checkPageUrl, checkUrlForm, isPageUrl, type EgressPolicy } from '../egress/url.ts';
import { EgressRefused, EgressUnreachable, type Egress } from '../egress/egress.ts';
import { createMcpFetch } from './fetch.ts';
import { deadlineIn } from '../deadline.ts';

/** How requests to authorization servers are sent: through the egress guard, each in at most 10 s. */
export interface OauthWay {
  readonly egress: Egress;
  readonly policy: EgressPolicy;
  readonly signal: AbortSignal;
}

/** An authorization server and the resource that its tokens are for; stored with its tokens. */
export interface OauthPlace {
  readonly issuer: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly resource: string | null;
}

export interface OauthClient {
  readonly client_id: string;
  readonly client_secret?: string | undefined;
}

export interface OauthTokenSet {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** As granted; null: as requested. */
  readonly scopes: readonly string[] | null;
  readonly lifeS: number | null;
}

/** What a person has to agree to, and what the exchange of the code will need. */
export interface AskedConsent {
  readonly url: string;
  readonly state: string;
  readonly at: OauthPlace;
  readonly client: OauthClient;
  readonly verifier: string;
  readonly scopes: readonly string[];
}

/** An authorization server that refuses (`isRefusal`), or can't be used at all. The message is for users. */
export class McpOauthError extends Error {
  override readonly name = 'McpOauthError';
  /** The server processed the request and refused it: repeating it is useless. */
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal: boolean) {
    super(message.slice(0, 500));
    this.isRefusal = isRefusal;
  }
}

export interface AuthFacts {
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
  readonly registration: 'preregistered' | 'metadata_document' | 'dynamic' | 'none';
}

const requestTimeoutMs = 10_000;
const maxConsentUrlChars = 8_192;

/** Describes how a server that answered 401 expects authorization (RFC 9728, RFC 8414). Never throws: what can't be read is absent. */
export async function describeAuth(way: OauthWay, url: string, challenge: string | null): Promise<AuthFacts> {
  try {
    const { info, scopes } = await discover(way, url, challenge);
    const metadata = info.authorizationServerMetadata;
    if (!metadata && !info.resourceMetadata) return { authorizationServers: [], scopes, registration: 'none' };
    const servers = info.resourceMetadata?.authorization_servers ?? [info.authorizationServerUrl];
    const pages = servers.map(String).filter((server) => isShort(server) && isPageUrl(server, way.policy));
    return { authorizationServers: pages.slice(0, 20), scopes, registration: registrationOf(metadata) };
  } catch {
    way.signal.throwIfAborted();
    return { authorizationServers: [], scopes: [], registration: 'none' };
  }
}

export interface ConsentRequest {
  readonly url: string;
  readonly challenge: string | null;
  /** A client that was registered beforehand; null registers one. */
  readonly clientId: string | null;
  /** Empty: the scopes that the server asks for. */
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

/** Prepares a consent: finds the authorization server, registers a client when none is given, PKCE S256, a single-use state. */
export async function askConsent(way: OauthWay, asked: ConsentRequest): Promise<AskedConsent> {
  return translated(async () => {
    const { info, scopes: wanted } = await discover(way, asked.url, asked.challenge);
    const metadata = info.authorizationServerMetadata;
    if (!metadata) throw new McpOauthError('the authorization server publishes no metadata', true);
    refuseEndpoints(metadata, way.policy);
    const scopes = asked.scopes.length > 0 ? asked.scopes : wanted;
    const scope = scopes.length > 0 ? { scope: scopes.join(' ') } : {};
    const at = { issuer: metadata.issuer, metadata: { ...metadata }, resource: resourceOf(info, asked.url) };
    const client = asked.clientId === null ? await register(way, info, asked.redirectUri) : { client_id: asked.clientId };
    const state = randomBytes(32).toString('base64url');

    const { authorizationUrl, codeVerifier } = await startAuthorization(info.authorizationServerUrl, {
      metadata,
      clientInformation: client,
      redirectUrl: asked.redirectUri,
      state,
      ...scope,
      ...(at.resource === null ? {} : { resource: at.resource }),
    });
    if (authorizationUrl.href.length > maxConsentUrlChars) throw new McpOauthError('the address of the consent is too long', true);
    return { url: authorizationUrl.href, state, at, client, verifier: codeVerifier, scopes };
  });
}

/** Exchanges the code of a consent that has come back. */
export async function exchangeCode(
  way: OauthWay,
  { at, client, ...consent }: { at: OauthPlace; client: OauthClient; code: string; verifier: string; redirectUri: string },
): Promise<OauthTokenSet> {
  return translated(async () =>
    tokenSet(
      await exchangeAuthorization(at.issuer, {
        metadata: metadataOf(at),
        clientInformation: client,
        authorizationCode: consent.code,
        codeVerifier: consent.verifier,
        redirectUri: consent.redirectUri,
        ...(at.resource === null ? {} : { resource: at.resource }),
        fetchFn: fetchFor(way),
      }),
    ),
  );
}

/** Refreshes a grant; the server may issue a new refresh token, otherwise the old one stays. */
export async function refreshTokens(
  way: OauthWay,
  { at, client, refreshToken }: { at: OauthPlace; client: OauthClient; refreshToken: string },
): Promise<OauthTokenSet> {
  return translated(async () =>
    tokenSet(
      await refreshAuthorization(at.issuer, {
        metadata: metadataOf(at),
        clientInformation: client,
        refreshToken,
        ...(at.resource === null ? {} : { resource: at.resource }),
        fetchFn: fetchFor(way),
      }),
    ),
  );
}

async function discover(way: OauthWay, url: string, challenge: string | null): Promise<{ info: OAuthServerInfo; scopes: string[] }> {
  const answer = new Response(null, challenge === null ? {} : { headers: { 'www-authenticate': challenge } });
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
  const info = await discoverOAuthServerInfo(url, { fetchFn: fetchFor(way), ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}) });
  return { info, scopes: bounded(scope ? scope.split(' ') : (info.resourceMetadata?.scopes_supported ?? [])) };
}

/** Returns scopes that can be stored and displayed. */
function bounded(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => /^[\x21-\x7e]{1,200}$/.test(scope)).slice(0, 50);
}

function isShort(url: string): boolean {
  return url.length <= 2_048;
}

/** A resource that is not the server's own must not get tokens meant for it (RFC 9728 §3.3). */
function resourceOf(info: OAuthServerInfo, url: string): string | null {
  const configuredResource = info.resourceMetadata?.resource;
  if (configuredResource === undefined) return null;
  if (!checkResourceAllowed({ requestedResource: resourceUrlFromServerUrl(url), configuredResource }))
    throw new McpOauthError('the server names another resource than itself', true);
  return configuredResource;
}

/**
 * Checks the endpoints to which the server sends people and us: people are never sent to a scheme other than a web page's, nor asked for a consent that cannot
 * lead to a token.
 */
function refuseEndpoints(metadata: AuthorizationServerMetadata, policy: EgressPolicy): void {
  const { authorization_endpoint: page, token_endpoint: token, registration_endpoint: registration } = metadata;
  const named = [
    ['authorization_endpoint', page, checkPageUrl],
    ['token_endpoint', token, checkUrlForm],
    ['registration_endpoint', registration, checkUrlForm],
  ] as const;
  for (const [name, url, check] of named) {
    if (url === undefined) continue;
    try {
      check(url, policy);
    } catch (error) {
      if (!(error instanceof EgressRefused)) throw error;
      throw new McpOauthError(`the ${name} of the authorization server is refused: ${error.message}`, true);
    }
  }
}

async function register(way: OauthWay, info: OAuthServerInfo, redirectUri: string): Promise<OauthClient> {
  const metadata = info.authorizationServerMetadata;
  if (!metadata?.registration_endpoint)
    throw new McpOauthError('the authorization server registers no clients: set auth.client_id to one registered beforehand', true);
  const made = await registerClient(info.authorizationServerUrl, {
    metadata,
    clientMetadata: {
      client_name: 'Longhaul',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    fetchFn: fetchFor(way),
  });
  return { client_id: made.client_id, ...(made.client_secret === undefined ? {} : { client_secret: made.client_secret }) };
}

function registrationOf(metadata: AuthorizationServerMetadata | undefined): AuthFacts['registration'] {
  if (!metadata) return 'none';
  if (Reflect.get(metadata, 'client_id_metadata_document_supported') === true) return 'metadata_document';
  return metadata.registration_endpoint ? 'dynamic' : 'preregistered';
}

function fetchFor({ egress, policy, signal }: OauthWay): FetchLike {
  const fetch = createMcpFetch({ egress, policy, headers: () => ({}), wire: () => undefined });
  return (url, init) => fetch(url, { ...init, signal: AbortSignal.any([signal, deadlineIn(requestTimeoutMs)]) });
}

function tokenSet(tokens: OAuthTokens): OauthTokenSet {
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? null,
    scopes: tokens.scope === undefined ? null : bounded(tokens.scope.split(' ')),
    lifeS: tokens.expires_in ?? null,
  };
}

/** Returns metadata that a discovery has validated, as it was stored. */
function metadataOf(at: OauthPlace): AuthorizationServerMetadata {
  return { ...at.metadata } as unknown as AuthorizationServerMetadata;
}

/** Passes on only the code of a refusal (RFC 6749 §5.2): a description may echo what was sent. */
async function translated<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      if (at instanceof McpOauthError || at instanceof EgressRefused || at instanceof EgressUnreachable) throw at;
    if (OAuthError.isInstance(error)) {
      const isOurs = !['server_error', 'temporarily_unavailable', 'too_many_requests'].includes(error.code);
      throw new McpOauthError(`the authorization server refused (${/^[a-z_]{1,40}$/.test(error.code) ? error.code : 'error'})`, isOurs);
    }
    throw new McpOauthError('the answer of the authorization server cannot be read', false);
  }
}
