import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An authorization server outside the deployment: metadata, registration, code and refresh grants with rotation. */
export interface FakeOauthServer {
  readonly issuer: string;
  readonly port: number;
  /** URL of a protected resource's metadata that names this server. */
  resourceMetadata(resource: string): string;
  /** As a person who agrees: gives what the redirect would bring back. */
  agree(authorizationUrl: string): { code: string; state: string; redirectUri: string };
  /** Whether an access token is good now. */
  accepts(token: string | null): boolean;
  /** Ends every access token; refresh tokens stay. */
  expireAll(): void;
  /** Ends every grant. */
  revokeAll(): void;
  /** What its metadata say beside, or instead of, the truth. */
  metadata: Record<string, unknown>;
  /** `expires_in` of tokens from now on. */
  lifeS: number;
  readonly tokenRequests: URLSearchParams[];
  readonly registrations: unknown[];
  close(): Promise<void>;
}

interface Consent {
  readonly clientId: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly resource: string | null;
  readonly scope: string;
}

export async function startOauthServer(): Promise<FakeOauthServer> {
  const codes = new Map<string, Consent>();
  const refreshTokens = new Map<string, Pick<Consent, 'clientId' | 'scope'>>();
  const accessTokens = new Set<string>();
  const resources = new Map<string, string>();
  const tokenRequests: URLSearchParams[] = [];
  const registrations: unknown[] = [];
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const { pathname } = new URL(request.url ?? '/', issuer);
    const send = (status: number, value: unknown) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (pathname.startsWith('/resource/')) {
      const resource = resources.get(pathname);
      return send(resource ? 200 : 404, { resource, authorization_servers: [issuer], scopes_supported: ['tools'] });
    }
    if (pathname === '/.well-known/oauth-authorization-server') return send(200, { ...metadataOf(issuer), ...fake.metadata });
    if (pathname === '/register') {
      registrations.push(JSON.parse(body));
      return send(201, { ...JSON.parse(body), client_id: `client-${randomUUID()}` });
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(body);
      tokenRequests.push(form);
      const grant = form.get('grant_type') === 'refresh_token' ? takeRefresh(form) : takeCode(form);
      return grant ? send(200, issue(grant)) : send(400, { error: 'invalid_grant', error_description: `secret ${body}` });
    }
    return send(404, {});
  }

  function takeCode(form: URLSearchParams): Pick<Consent, 'clientId' | 'scope'> | null {
    const consent = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isGood =
      consent?.challenge === challenge && consent.redirectUri === form.get('redirect_uri') && consent.clientId === form.get('client_id');
    return isGood && consent ? consent : null;
  }

  function takeRefresh(form: URLSearchParams): Pick<Consent, 'clientId' | 'scope'> | null {
    const token = form.get('refresh_token') ?? '';
    const grant = refreshTokens.get(token) ?? null;
    refreshTokens.delete(token); // rotation: each is good once
    return grant;
  }

  function issue(grant: Pick<Consent, 'clientId' | 'scope'>) {
    const access = `access-${randomUUID()}`;
    const refresh = `refresh-${randomUUID()}`;
    accessTokens.add(access);
    refreshTokens.set(refresh, grant);
    return { access_token: access, refresh_token: refresh, token_type: 'Bearer', expires_in: fake.lifeS, scope: grant.scope };
  }

  const fake: FakeOauthServer = {
    issuer,
    port,
    metadata: {},
    lifeS: 3_600,
    tokenRequests,
    registrations,
    resourceMetadata(resource) {
      const path = `/resource/${randomUUID()}`;
      resources.set(path, resource);
      return issuer + path;
    },
    agree(authorizationUrl) {
      const { searchParams: asked } = new URL(authorizationUrl);
      const code = `code-${randomUUID()}`;
      const redirectUri = asked.get('redirect_uri') ?? '';
      const clientId = asked.get('client_id') ?? '';
      codes.set(code, {
        clientId,
        redirectUri,
        challenge: asked.get('code_challenge') ?? '',
        resource: asked.get('resource'),
        scope: asked.get('scope') ?? '',
      });
      return { code, state: asked.get('state') ?? '', redirectUri };
    },
    accepts: (token) => token !== null && accessTokens.has(token),
    expireAll: () => accessTokens.clear(),
    revokeAll() {
      accessTokens.clear();
      refreshTokens.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
}
