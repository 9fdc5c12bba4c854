import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { isCode, type Tokens } from '../../../clients/typescript/src/index.ts';
import { createSigningKeys } from '../../../domain/identity/keys/signing-keys.ts';
import { createSessionTokens } from '../../../domain/identity/sessions/session-tokens.ts';
import { makeUser, testPassword } from '../../support/tenant.ts';
import { startClientWorld, type ClientWorld } from './client-world.ts';

let world: ClientWorld;

beforeAll(async () => {
  world = await startClientWorld();
});

beforeEach(() => world.proxy.reset());

afterAll(() => world?.stop());

/** A session that was signed in, whose access token ran out an hour ago. */
async function staleSession(): Promise<Tokens> {
  const { db, keys, tenant, url } = world.stack;
  const user = await makeUser(db, keys, {
    role: 'member',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
  });
  const signedIn = await world.client({ session: { access: '', refresh: null } }).login({ email: user.email, password: testPassword });
  if (signedIn.session_id === null) throw new Error('the sign-in asks for a second factor');
  const now = () => new Date(Date.now() - 3_600_000);
  const signingKeys = createSigningKeys({ db, keys, now: () => new Date() });
  await signingKeys.ensure();
  const { token } = await createSessionTokens({ signingKeys, publicUrl: url(), now }).issue({
    userId: user.id,
    sessionId: signedIn.session_id,
  });
  return { access: token, refresh: signedIn.refresh_token };
}

const refreshes = () => world.proxy.passed.filter(({ path }) => path === '/auth/refresh');

test('twenty calls at the end of a token renew it once, and none uses the new one before it is stored', async () => {
  const stored: { tokens: Tokens; at: number }[] = [];
  const session = await staleSession();
  const longhaul = world.client({
    session,
    onTokens: async (tokens) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      stored.push({ tokens, at: world.proxy.passed.length });
    },
  });
  world.proxy.reset();

  const answers = await Promise.all(Array.from({ length: 20 }, () => longhaul.getMe()));

  const bearer = `Bearer ${stored[0]?.tokens.access}`;
  expect(new Set(answers.map(({ user }) => user?.id)).size).toBe(1);
  expect(refreshes()).toHaveLength(1);
  expect(stored).toHaveLength(1);
  expect(world.proxy.passed.findIndex(({ headers }) => headers.authorization === bearer)).toBeGreaterThanOrEqual(stored[0]?.at ?? Infinity);
  expect(refreshes()[0]?.headers.authorization).toBeUndefined();
});

test('of two processes with the same tokens the loser takes what the winner has stored', async () => {
  const session = await staleSession();
  let stored = session;
  const store = { session, onTokens: (tokens: Tokens) => (stored = tokens), loadTokens: () => stored };
  const [one, two] = [world.client(store), world.client(store)];
  world.proxy.reset();

  await one.getMe();
  await two.getMe();

  expect(refreshes().map(({ status }) => status)).toEqual([200, 409]);
});

test('a lost race without a store is the error that it is, and the session lives', async () => {
  const session = await staleSession();
  let winner: Tokens = session;
  await world.client({ session, onTokens: (tokens) => (winner = tokens) }).getMe();

  const error = await world
    .client({ session })
    .getMe()
    .catch((failure: unknown) => failure);
  const again = await world.client({ session: winner }).getMe();

  expect(isCode(error, 'refresh_superseded')).toBe(true);
  expect(again.user?.email).toEqual(expect.any(String));
});

test('a renewal that did not reach the deployment is tried again', async () => {
  const session = await staleSession();
  world.proxy.reset();
  world.proxy.decide = ({ path }, nth) => (path === '/auth/refresh' && nth === 1 ? { status: 503 } : 'pass');

  const me = await world.client({ session }).getMe();

  expect(me.user?.email).toEqual(expect.any(String));
  expect(refreshes()).toHaveLength(2);
});

test('tokens are renewed another way where the caller knows one', async () => {
  const session = await staleSession();
  const { access_token: access } = await world.longhaul.refreshTokens({ refresh_token: session.refresh ?? '' });
  world.proxy.reset();

  const me = await world.client({ session: { ...session, refresh: null }, renewTokens: async () => ({ access, refresh: null }) }).getMe();

  expect(me.user?.email).toEqual(expect.any(String));
  expect(refreshes()).toEqual([]);
});
