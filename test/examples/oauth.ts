import { createHash, randomBytes } from 'node:crypto';
import { bearer } from '../support/tenant.ts';
import type { Situated, Situation } from './situations.ts';

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const redirectUri = 'https://app.example/callback';

interface Granted {
  readonly clientId: string;
  readonly secret: string | null;
  /** The form that redeems the code. */
  readonly form: Readonly<Record<string, string>>;
}

/** A code that a person has granted to a client, not yet redeemed. */
async function granted({ stage }: Situation, method: 'none' | 'client_secret_basic'): Promise<Granted> {
  const made = await post({ stage }, '/oauth-clients', {
    headers: stage.world.actor('operator').headers,
    payload: { client_name: 'Dashboard', redirect_uris: [redirectUri], token_endpoint_auth_method: method },
  });
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: String(made['client_id']),
    redirect_uri: redirectUri,
    scope: 'runs:read agents:read',
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const begun = await stage.api.app.inject({ url: `/oauth/authorize?${query.toString()}`, headers: { accept: 'application/json' } });
  const decided = await post({ stage }, '/oauth/authorize', {
    headers: stage.world.actor('member A1').headers,
    payload: { transaction_id: begun.json().transaction_id, decision: 'approve' },
  });
  const code = new URL(String(decided['redirect_to'])).searchParams.get('code') ?? '';
  const clientId = String(made['client_id']);
  const secret = typeof made['client_secret'] === 'string' ? made['client_secret'] : null;
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  return { clientId, secret, form: { ...form, ...(secret === null ? { client_id: clientId } : {}) } };
}

/** A confidential client with tokens. */
async function withTokens(situation: Situation): Promise<{ headers: Record<string, string>; refreshToken: string; accessToken: string }> {
  const { clientId, secret, form } = await granted(situation, 'client_secret_basic');
  const headers = { ...formType, authorization: `Basic ${Buffer.from(`${clientId}:${secret ?? ''}`).toString('base64')}` };
  const tokens = await post(situation, '/oauth/token', { headers, payload: new URLSearchParams(form).toString() });
  return { headers, refreshToken: String(tokens['refresh_token']), accessToken: String(tokens['access_token']) };
}

async function registered(situation: Situation): Promise<Situated> {
  const made = await post(situation, '/oauth/register', { headers: {}, payload: { client_name: 'Example', redirect_uris: [redirectUri] } });
  return { params: { client_id: String(made['client_id']) }, headers: bearer(String(made['registration_access_token'])) };
}

async function post(
  { stage }: Pick<Situation, 'stage'>,
  url: string,
  { headers, payload }: { headers: Readonly<Record<string, string>>; payload: object | string },
): Promise<Record<string, unknown>> {
  const reply = await stage.api.app.inject({ method: 'POST', url, headers: { ...headers }, payload });
  if (reply.statusCode >= 400) throw new Error(`${url}: ${reply.statusCode} ${reply.body}`);
  return reply.json();
}

/** Operations with a credential of their own, which no user or key has. */
export const oauthSituations: Readonly<Record<string, (situation: Situation) => Promise<Situated>>> = {
  getOauthClientRegistration: registered,
  deleteOauthClientRegistration: registered,
  issueOauthToken: async (situation) => {
    const { form } = await granted(situation, 'none');
    return { body: new URLSearchParams(form).toString(), headers: formType };
  },
  introspectOauthToken: async (situation) => {
    const { headers, accessToken } = await withTokens(situation);
    return { body: new URLSearchParams({ token: accessToken }).toString(), headers };
  },
  revokeOauthToken: async (situation) => {
    const { headers, refreshToken } = await withTokens(situation);
    return { body: new URLSearchParams({ token: refreshToken }).toString(), headers };
  },
};
