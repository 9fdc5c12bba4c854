import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errors, interactionPolicy, Provider, type Configuration } from 'oidc-provider';
import { authorizePath, basic, callback, newPkce, type Answer, type Fields, type OauthWorld, type TestClient } from './client.ts';

/** A server under comparison: ours, or the oracle. Its clients have the same names, grants and methods. */
export interface Compared {
  readonly issuer: string;
  readonly clients: Readonly<Record<ClientName, TestClient>>;
  /** What a browser of a user who approves everything ends with. */
  authorize(parameters: Readonly<Record<string, string | undefined>>, more?: string): Promise<{ verdict: string; code: string }>;
  form(path: 'token' | 'revoke' | 'introspect', fields: Fields, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  json(path: 'token' | 'register', body: unknown): Promise<Answer>;
  metadata(): Promise<Answer>;
  close(): Promise<void>;
}

export type ClientName = 'open' | 'other' | 'basic' | 'post' | 'local' | 'codeOnly' | 'machine';
export const resource = 'https://api.test';
const scopes = 'runs:read agents:read runs:write';

/** How each client is made on either side. */
const shapes: Readonly<Record<ClientName, { method: string; grants: readonly string[]; redirect: string }>> = {
  open: { method: 'none', grants: ['authorization_code', 'refresh_token'], redirect: callback },
  other: { method: 'none', grants: ['authorization_code', 'refresh_token'], redirect: callback },
  basic: { method: 'client_secret_basic', grants: ['authorization_code', 'refresh_token'], redirect: callback },
  post: { method: 'client_secret_post', grants: ['authorization_code', 'refresh_token'], redirect: callback },
  local: { method: 'none', grants: ['authorization_code', 'refresh_token'], redirect: 'http://127.0.0.1:8080/cb' },
  codeOnly: { method: 'none', grants: ['authorization_code'], redirect: callback },
  machine: { method: 'client_secret_basic', grants: ['client_credentials'], redirect: callback },
};

/** Ours, with a user of a tenant who approves. */
export async function ours(world: OauthWorld): Promise<Compared> {
  const tenant = await world.tenant({ publicUrl: resource });
  const make = async ({ method, grants, redirect }: (typeof shapes)[ClientName]) =>
    world.client(tenant.tokens.operator, {
      token_endpoint_auth_method: method,
      grant_types: grants,
      redirect_uris: grants.includes('authorization_code') ? [redirect] : [],
      scope: scopes,
      ...(grants.includes('client_credentials') ? { organization_id: tenant.organizationId, role: 'member' } : {}),
    });

  return {
    issuer: resource,
    clients: await everyClient(make),
    async authorize(parameters, more = '') {
      const client: TestClient = { clientId: parameters['client_id'] ?? '', secret: null, redirectUri: parameters['redirect_uri'] ?? '' };
      const started = await world.get(authorizePath(client, { state: 's', ...parameters }) + more);
      if (started.status !== 200) {
        const target = started.body.context?.redirect_to;
        return { verdict: target ? `redirect ${started.body.error}` : 'page', code: '' };
      }
      const decided = await world.json(tenant.tokens.member, '/oauth/authorize', {
        transaction_id: started.body.transaction_id,
        decision: 'approve',
      });
      return { verdict: 'code', code: new URL(decided.body.redirect_to).searchParams.get('code') ?? '' };
    },
    form: (path, fields, headers) => world.form(`/oauth/${path}`, fields, headers),
    json: (path, body) => world.json(null, `/oauth/${path}`, body),
    metadata: () => world.get('/.well-known/oauth-authorization-server'),
    close: async () => undefined,
  };
}

/** oidc-provider, set up to the same ends. */
export async function oracle(): Promise<Compared> {
  let handle: RequestListener = () => undefined;
  const listener = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has such an address.
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const clients = await everyClient(async ({ redirect, method }, name) => ({
    clientId: `oracle-${name}`,
    secret: method === 'none' ? null : `secret-of-${name}-that-is-long-enough`,
    redirectUri: redirect,
  }));
  const provider = new Provider(origin, configurationOf(clients));
  const answer = provider.callback();
  handle = (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response);
    // Whoever comes is signed in; consent is given by `loadExistingGrant`.
    return provider.interactionFinished(request, response, { login: { accountId: 'user' } });
  };
  const ask = (path: string, type: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    answerOf(fetch(origin + path, { method: 'POST', headers: { 'content-type': type, ...headers }, body }));
  const paths = { token: '/token', revoke: '/token/revocation', introspect: '/token/introspection', register: '/reg' } as const;

  return {
    issuer: origin,
    clients,
    authorize: (parameters, more = '') => browse(origin, parameters, more),
    form: (path, fields, headers) => ask(paths[path], 'application/x-www-form-urlencoded', formOf(fields), headers),
    json: (path, body) => ask(paths[path], 'application/json', JSON.stringify(body)),
    metadata: () => answerOf(fetch(`${origin}/.well-known/oauth-authorization-server`)),
    close: () => closed(listener),
  };
}

/** A code of a client on either side, with the verifier. */
export async function codeOf(server: Compared, name: ClientName): Promise<{ code: string; verifier: string; redirect_uri: string }> {
  const { verifier, challenge } = newPkce();
  const client = server.clients[name];
  const { code, verdict } = await server.authorize({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code_challenge: challenge,
  });
  if (verdict !== 'code') throw new Error(`${server.issuer} gave ${verdict} to ${name}`);
  return { code, verifier, redirect_uri: client.redirectUri };
}

/** How a client authenticates by its own method. */
export function proof(server: Compared, name: ClientName): { fields: Record<string, string>; headers: Record<string, string> } {
  const client = server.clients[name];
  if (shapes[name].method === 'client_secret_basic') return { fields: {}, headers: basic(client) };
  const secret: Record<string, string> = shapes[name].method === 'client_secret_post' ? { client_secret: client.secret ?? '' } : {};
  return { fields: { client_id: client.clientId, ...secret }, headers: {} };
}

function configurationOf(clients: Compared['clients']): Configuration {
  return {
    clients: Object.entries(shapes).map(([name, { method, grants, redirect }]) => ({
      // The entries of `shapes` are the names.
      client_id: clients[name as ClientName].clientId,
      client_secret: clients[name as ClientName].secret ?? undefined,
      token_endpoint_auth_method: method as 'none',
      grant_types: [...grants],
      redirect_uris: grants.includes('authorization_code') ? [redirect] : [],
      response_types: grants.includes('authorization_code') ? ['code'] : [],
      application_type: redirect.startsWith('http:') ? 'native' : 'web',
      scope: scopes,
    })),
    scopes: scopes.split(' '),
    clientDefaults: { grant_types: ['authorization_code'], response_types: ['code'], token_endpoint_auth_method: 'none' },
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, asked) => {
          if (asked !== resource && asked !== `${resource}/mcp`) throw new errors.InvalidTarget();
          return { scope: scopes, audience: asked, accessTokenFormat: 'opaque' };
        },
      },
    },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    findAccount: (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}`, policy: policyOfOracle() },
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client?.clientId ?? '',
        accountId: ctx.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope(scopes);
      for (const target of [resource, `${resource}/mcp`]) grant.addResourceScope(target, scopes);
      await grant.save();
      return grant;
    },
    cookies: { keys: ['test'] },
  };
}

/** Consent is given beforehand; that a native client must ask each time would keep a script waiting. */
function policyOfOracle() {
  const policy = interactionPolicy.base();
  policy.get('consent').checks.remove('native_client_prompt');
  return policy;
}

/** Follows the oracle's redirects with its cookies until they leave it. */
async function browse(
  origin: string,
  parameters: Readonly<Record<string, string | undefined>>,
  more: string,
): Promise<{ verdict: string; code: string }> {
  const client: TestClient = { clientId: '', secret: null, redirectUri: '' };
  const cookies = new Map<string, string>();
  let url = new URL(authorizePath(client, { state: 's', ...parameters }).replace('/oauth/authorize', '/auth') + more, origin);

  for (let hops = 0; hops < 8; hops += 1) {
    const reply = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'application/json', cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
    });
    for (const cookie of reply.headers.getSetCookie()) cookies.set(...pairOf(cookie));
    const location = reply.headers.get('location');
    if (location === null) return { verdict: 'page', code: '' };
    url = new URL(location, url);
    if (url.origin === origin) continue;
    // Answers to other response types come in the fragment.
    const answer = url.hash === '' ? url.searchParams : new URLSearchParams(url.hash.slice(1));
    const error = answer.get('error');
    return { verdict: error === null ? 'code' : `redirect ${error}`, code: answer.get('code') ?? '' };
  }
  throw new Error('the oracle goes in circles');
}

function pairOf(cookie: string): [string, string] {
  const [name = '', ...value] = (cookie.split(';')[0] ?? '').split('=');
  return [name, value.join('=')];
}

async function everyClient(make: (shape: (typeof shapes)[ClientName], name: string) => Promise<TestClient>): Promise<Compared['clients']> {
  const made = await Promise.all(Object.entries(shapes).map(async ([name, shape]) => [name, await make(shape, name)] as const));
  // Made from the entries of `shapes`, which has all the names.
  return Object.fromEntries(made) as Compared['clients'];
}

async function answerOf(asked: Promise<Response>): Promise<Answer> {
  const reply = await asked;
  const text = await reply.text();
  return { status: reply.status, headers: Object.fromEntries(reply.headers), body: text.startsWith('{') ? JSON.parse(text) : text };
}

function formOf(fields: Fields): string {
  const form = new URLSearchParams();
  for (const [name, value] of Symbol.iterator in fields ? fields : Object.entries(fields)) form.append(name, value);
  return form.toString();
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
