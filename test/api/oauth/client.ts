import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Egress, EgressResponse } from '../../../ports/egress/egress.ts';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import { startApi, type TestApi, type TestApiOptions } from '../../support/api.ts';
import { bearer, makeTenant, testPublicUrl, type TestTenant, type TestUser } from '../../support/tenant.ts';

/** A reply as tests read it; `body` is whatever JSON came, else the text. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  // Tests look at fields by name; the replies themselves are validated against the served document.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** A client as its own code knows it. */
export interface TestClient {
  readonly clientId: string;
  readonly secret: string | null;
  readonly redirectUri: string;
}

export const callback = 'https://app.test/callback';

/** One API with its OAuth server, seen from a client and from a user. */
export interface OauthWorld {
  readonly api: TestApi;
  tenant(options?: Parameters<typeof makeTenant>[2]): Promise<TestTenant>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  json(token: string | null, path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  form(path: string, fields: Fields, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  remove(path: string, token: string): Promise<Answer>;
  /** A pre-registered client, made by an operator; public unless told otherwise. */
  client(operator: string, body?: Readonly<Record<string, unknown>>): Promise<TestClient>;
  close(): Promise<void>;
}

export type Fields = Readonly<Record<string, string>> | Iterable<readonly [string, string]>;

export async function openOauth(options: TestApiOptions = {}): Promise<OauthWorld> {
  const api = await startApi({
    ...options,
    env: { RATE_LIMITS: 'anonymous=100000/60,oauth_token=100000/60,oauth_register=100000/60', ...options.env },
  });
  const ask = async (request: {
    method: 'GET' | 'POST' | 'DELETE';
    url: string;
    headers?: Readonly<Record<string, string>>;
    payload?: string;
  }) => {
    const reply = await api.app.inject({ ...request, headers: { ...request.headers } });
    return { status: reply.statusCode, headers: reply.headers as Record<string, string | undefined>, body: parsed(reply.body) };
  };
  const json: OauthWorld['json'] = (token, path, body, headers) =>
    ask({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json', ...(token === null ? {} : bearer(token)), ...headers },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    });

  return {
    api,
    tenant: (shape) => makeTenant(api.db, api.keys, shape),
    get: (url, headers) => ask({ method: 'GET', url, headers }),
    json,
    form: (url, fields, headers) =>
      ask({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: formOf(fields),
      }),
    remove: (url, token) => ask({ method: 'DELETE', url, headers: bearer(token) }),
    async client(operator, body = {}) {
      const made = await json(operator, '/oauth-clients', {
        client_name: 'Test app',
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
        ...body,
      });
      if (made.status !== 201) throw new Error(`createOauthClient: ${made.status} ${JSON.stringify(made.body)}`);
      return { clientId: made.body.client_id, secret: made.body.client_secret, redirectUri: made.body.redirect_uris[0] ?? callback };
    },
    close: () => api.close(),
  };
}

/** A verifier and its challenge (RFC 7636). */
export function newPkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export function basic({ clientId, secret }: Pick<TestClient, 'clientId' | 'secret'>): { authorization: string } {
  const part = (text: string) => new URLSearchParams({ x: text }).toString().slice(2);
  return { authorization: `Basic ${Buffer.from(`${part(clientId)}:${part(secret ?? '')}`).toString('base64')}` };
}

/** The path of an authorization request; undefined leaves a parameter out. */
export function authorizePath(client: TestClient, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const all = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    scope: 'runs:read agents:read',
    state: 'state-1',
    code_challenge: newPkce().challenge,
    code_challenge_method: 'S256',
    ...parameters,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/oauth/authorize?${new URLSearchParams(given).toString()}`;
}

/** A user approves; gives the code and how it came. */
export async function approve(
  world: OauthWorld,
  client: TestClient,
  {
    token,
    parameters = {},
    scopes,
  }: { token: string; parameters?: Readonly<Record<string, string | undefined>>; scopes?: readonly string[] },
): Promise<{ code: string; verifier: string; redirect: URL }> {
  const { verifier, challenge } = newPkce();
  const started = await world.get(authorizePath(client, { code_challenge: challenge, ...parameters }));
  if (started.status !== 200) throw new Error(`authorize: ${started.status} ${JSON.stringify(started.body)}`);
  const decided = await world.json(token, '/oauth/authorize', {
    transaction_id: started.body.transaction_id,
    decision: 'approve',
    ...(scopes ? { scopes } : {}),
  });
  if (decided.status !== 200) throw new Error(`decide: ${decided.status} ${JSON.stringify(decided.body)}`);
  const redirect = new URL(decided.body.redirect_to);
  return { code: redirect.searchParams.get('code') ?? '', verifier, redirect };
}

export function exchange(
  world: OauthWorld,
  client: TestClient,
  code: { code: string; verifier: string },
  extra: Readonly<Record<string, string>> = {},
) {
  return world.form('/oauth/token', {
    grant_type: 'authorization_code',
    code: code.code,
    redirect_uri: client.redirectUri,
    code_verifier: code.verifier,
    client_id: client.clientId,
    ...extra,
  });
}

export function refresh(world: OauthWorld, client: TestClient, refreshToken: string, extra: Readonly<Record<string, string>> = {}) {
  return world.form('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.clientId, ...extra });
}

/** The tokens of a fresh grant. */
export async function grantTo(
  world: OauthWorld,
  client: TestClient,
  user: Pick<TestUser, 'token'>,
  parameters: Readonly<Record<string, string | undefined>> = {},
): Promise<{ access: string; refresh: string; scope: string }> {
  const tokens = await exchange(world, client, await approve(world, client, { token: user.token, parameters }));
  if (tokens.status !== 200) throw new Error(`token: ${tokens.status} ${JSON.stringify(tokens.body)}`);
  return { access: tokens.body.access_token, refresh: tokens.body.refresh_token, scope: tokens.body.scope };
}

/** Lets a row of identity have happened earlier than it did. */
export async function age(world: OauthWorld, sql: string, params: readonly unknown[] = []): Promise<void> {
  await sweep(world.api.db, (em) => change(em, sql, params));
}

/** Documents by URL in place of the network; counts who asks for what. */
export function documentsOf(
  documents: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Egress & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async fetch({ url }): Promise<EgressResponse> {
      asked.push(url);
      await delay(20);
      const document = documents[url];
      const body = Buffer.from(typeof document === 'string' ? document : JSON.stringify(document ?? null));
      return {
        status: document === undefined ? 404 : 200,
        headers: { 'content-type': 'application/json', ...headers },
        url,
        body: body.subarray(0, 5_120),
        isTruncated: body.length > 5_120,
      };
    },
    open: () => Promise.reject(new Error('documents are not streamed')),
    connect: () => Promise.reject(new Error('nothing else is asked')),
    close: async () => undefined,
  };
}

export const issuer = testPublicUrl;

function formOf(fields: Fields): string {
  const form = new URLSearchParams();
  for (const [name, value] of Symbol.iterator in fields ? fields : Object.entries(fields)) form.append(name, value);
  return form.toString();
}

function parsed(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
