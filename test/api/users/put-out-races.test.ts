import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { tokenFor, type TestTenant, type TestUser } from '../../support/tenant.ts';
import { withAdmin } from '../../support/template.ts';
import { authorizePath, openOauth, type OauthWorld } from '../oauth/client.ts';
import type { Answer } from '../world.ts';
import { newAddress, openPeople, type People } from './people.ts';

let people: People;
/** A second process of the same deployment. */
let oauth: OauthWorld;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  oauth = await openOauth({ database, keys, redisPrefix });
});

afterAll(async () => {
  await oauth.close();
  await people.close();
});

/** What somebody makes while they are being put out; `left` counts what of it would live on. */
interface Making {
  readonly what: string;
  /** Gets ready and gives the request. */
  readonly ready: (who: TestUser, tenant: TestTenant) => Promise<() => Promise<Answer>>;
  readonly left: string;
  readonly role?: 'admin' | 'operator';
}

const liveKeys = 'select id from service_keys where created_by_user_id = ? and revoked_at is null';

const makings: readonly Making[] = [
  {
    what: 'a service key',
    ready: async (who) => () => people.call(who.token, 'POST', '/service-keys', { body: { name: 'k' } }),
    left: liveKeys,
  },
  {
    what: 'an invitation',
    ready: async (who) => () => people.call(who.token, 'POST', '/invitations', { body: { email: newAddress(), role: 'viewer' } }),
    left: `select id from invitations where invited_by_user_id = ? and status = 'pending' and unvouched_at is null`,
  },
  {
    what: 'a user',
    ready: async (who) => () => people.call(who.token, 'POST', '/users', { body: { email: newAddress(), role: 'viewer' } }),
    left: `select a.id from audit_entries a where a.actor_id = ? and a.operation_id = 'createUser'`,
  },
  {
    what: 'an OAuth code',
    ready: async (who, { tokens }) => {
      const client = await oauth.client(tokens.operator);
      const started = await oauth.get(authorizePath(client));
      return () => oauth.json(who.token, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision: 'approve' });
    },
    left: 'select code_hash from oauth_codes where user_id = ? and used_at is null',
  },
  {
    what: 'an impersonation',
    role: 'operator',
    ready:
      async (who, { users }) =>
      () =>
        people.call(who.token, 'POST', '/impersonations', { body: { user_id: users.viewer.id, reason: 'Support case 4711' } }),
    left: 'select id from impersonations where operator_user_id = ? and ended_at is null and expires_at > now()',
  },
];

/** Holds a lock of its own until told; gives how many wait for it or behind it. */
async function holding<R>(sql: string, params: readonly unknown[], work: (held: Held) => Promise<R>): Promise<R> {
  const client = new pg.Client(people.api.database.adminUrl);
  await client.connect();
  try {
    await client.query('begin');
    await client.query(sql, [...params]);
    return await work({ release: async () => void (await client.query('rollback')), waiting });
  } finally {
    await client.end();
  }
}

interface Held {
  release(): Promise<void>;
  waiting(): Promise<number>;
}

async function waiting(): Promise<number> {
  const { rows } = await withAdmin(people.api.database.adminUrl, (admin) =>
    admin.query<{ n: number }>(
      'select count(*)::int as n from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
    ),
  );
  return rows[0]?.n ?? 0;
}

/** Until so many wait, or the answer is there. */
async function untilWaiting(held: Held, count: number, answer: { done: boolean }): Promise<void> {
  while (!answer.done && (await held.waiting()) < count) await new Promise((resolve) => setImmediate(resolve));
}

function watched<T>(work: Promise<T>): { done: boolean; answer: Promise<T> } {
  const state = { done: false, answer: work };
  void work.finally(() => (state.done = true)).catch(() => undefined);
  return state;
}

async function newcomer(tenant: TestTenant, role: 'admin' | 'operator'): Promise<TestUser> {
  return people.user(tenant, { role, scope: role === 'operator' ? 'platform' : 'workspace' });
}

const putOut = (tenant: TestTenant, { id, role }: TestUser, what: 'deactivate' | 'reactivate') =>
  people.call(role === 'operator' ? tenant.tokens.operator : tenant.organizationOwner.token, 'POST', `/users/${id}/${what}`);

/** Who was put out, and what the two at once were told. */
interface Scene {
  readonly who: TestUser;
  readonly ended: Answer;
  readonly made: Answer;
}

/** The database waits 5 s for a lock, then a request is 503: on a machine as busy as that the scene is played again, with other people. */
async function played(scene: () => Promise<Scene>): Promise<Scene> {
  for (;;) {
    const seen = await scene();
    if (seen.ended.status !== 503 && seen.made.status !== 503) return seen;
  }
}

/** Two requests that wait behind one lock, the second one behind the first as well. */
async function inTurn(lock: string, params: readonly unknown[], first: () => Promise<Answer>, second: () => Promise<Answer>) {
  return holding(lock, params, async (held) => {
    const one = watched(first());
    await untilWaiting(held, 1, one);
    const other = watched(second());
    await untilWaiting(held, 2, other);
    await held.release();
    return [await one.answer, await other.answer] as const;
  });
}

// What is done is written but for its audit entry, for which it waits.
const entries = 'lock table audit_entries in share mode';

test.each(makings)('$what that is made while its maker is being deactivated is not made', async ({ ready, left, role = 'admin' }) => {
  const { who, ended, made } = await played(async () => {
    const tenant = await people.tenant();
    const who = await newcomer(tenant, role);
    const make = await ready(who, tenant);
    // One more session, on which the deactivation waits after it has ended the keys.
    const { sessionId } = await tokenFor(people.api.db, people.api.keys, who);
    const lock = 'select from sessions where id = $1 for update';
    const [ended, made] = await inTurn(lock, [sessionId], () => putOut(tenant, who, 'deactivate'), make);
    await putOut(tenant, who, 'reactivate');
    return { who, ended, made };
  });

  expect(ended.status).toBe(200);
  expect(made).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(await people.rows(left, [who.id])).toEqual([]);
});

const lasting = makings.filter(({ what }) => what !== 'a user');

test.each(lasting)(
  '$what that was made just before its maker is deactivated dies with it and stays dead',
  async ({ ready, left, role = 'admin' }) => {
    const { who, ended, made } = await played(async () => {
      const tenant = await people.tenant();
      const who = await newcomer(tenant, role);
      const make = await ready(who, tenant);
      const [made, ended] = await inTurn(entries, [], make, () => putOut(tenant, who, 'deactivate'));
      await putOut(tenant, who, 'reactivate');
      return { who, ended, made };
    });

    expect([made.status < 300, ended.status]).toEqual([true, 200]);
    expect(await people.rows(left, [who.id])).toEqual([]);
  },
);

test('of keys that are made beside a deactivation none comes alive with the reactivation, in twenty rounds', async () => {
  const tenant = await people.tenant();
  const alive: string[] = [];

  for (let round = 0; round < 20; round += 1) {
    const who = await newcomer(tenant, 'admin');
    const key = () => people.call(who.token, 'POST', '/service-keys', { body: { name: `k${round}` } });
    await Promise.all([key(), key(), putOut(tenant, who, 'deactivate'), key(), key()]);
    await putOut(tenant, who, 'reactivate');
    alive.push(...(await people.rows<{ id: string }>(liveKeys, [who.id])).map(({ id }) => id));
  }

  expect(alive).toEqual([]);
});

test('a key that is made beside the end of its maker’s session is not made', async () => {
  const { who, ended, made } = await played(async () => {
    const who = (await people.tenant()).users.admin;
    const key = () => people.call(who.token, 'POST', '/service-keys', { body: { name: 'k' } });
    const [ended, made] = await inTurn(entries, [], () => people.call(who.token, 'POST', '/auth/logout'), key);
    return { who, ended, made };
  });

  expect(ended.status).toBe(204);
  expect(made).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(await people.rows(liveKeys, [who.id])).toEqual([]);
});

test('a key has at most the rank that its maker has left when it is made', async () => {
  const { who, ended, made } = await played(async () => {
    const tenant = await people.tenant();
    const who = await newcomer(tenant, 'admin');
    const lower = () => people.call(tenant.organizationOwner.token, 'PUT', `/users/${who.id}/role`, { body: { role: 'member' } });
    const key = () => people.call(who.token, 'POST', '/service-keys', { body: { name: 'k', role: 'admin' } });
    const [ended, made] = await inTurn(entries, [], lower, key);
    return { who, ended, made };
  });

  expect(ended.status).toBe(200);
  expect(made).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(await people.rows(liveKeys, [who.id])).toEqual([]);
});

/** Somebody of another workspace who is an admin of the first by grant. */
async function guest(tenant: TestTenant): Promise<TestUser> {
  const [first = '', second = ''] = tenant.workspaceIds;
  const who = await people.user(tenant, { role: 'admin', workspaceId: second });
  await people.call(tenant.organizationOwner.token, 'PUT', `/workspaces/${first}/members/${who.id}`, { body: { role: 'admin' } });
  return who;
}

test('a key that is made beside the end of its maker’s grant is not made, and one from before stays dead when the grant comes back', async () => {
  let before = '';
  const { who, ended, made } = await played(async () => {
    const tenant = await people.tenant({ workspaces: 2 });
    const [first = ''] = tenant.workspaceIds;
    const who = await guest(tenant);
    const grant = (method: 'PUT' | 'DELETE', options = {}) =>
      people.call(tenant.organizationOwner.token, method, `/workspaces/${first}/members/${who.id}`, options);
    const key = () => people.call(who.token, 'POST', '/service-keys', { body: { name: 'k', workspace_id: first } });
    before = (await key()).body.plaintext;
    const [ended, made] = await inTurn(entries, [], () => grant('DELETE'), key);
    await grant('PUT', { body: { role: 'admin' } });
    return { who, ended, made };
  });

  expect(ended.status).toBe(204);
  expect(made.status).toBe(403);
  expect((await people.call(before, 'GET', '/auth/me')).status).toBe(401);
  expect(await people.rows(liveKeys, [who.id])).toEqual([]);
});

test('keys of somebody who moves to another home end where they no longer reach, and live where they do', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [first = '', second = ''] = tenant.workspaceIds;
  const who = await guest(tenant);
  const key = async (workspaceId: string): Promise<string> =>
    (await people.call(who.token, 'POST', '/service-keys', { body: { name: 'k', workspace_id: workspaceId } })).body.plaintext;
  const [there, home] = [await key(first), await key(second)];
  const move = (workspaceId: string) =>
    people.call(tenant.organizationOwner.token, 'PUT', `/users/${who.id}/role`, {
      body: { role: 'admin', scope: 'workspace', workspace_id: workspaceId },
    });

  await move(first);
  await move(second);

  const alive = async (plaintext: string) => (await people.call(plaintext, 'GET', '/auth/me')).status;
  // The first workspace was left by the second move, the second one by the first.
  expect([await alive(there), await alive(home)]).toEqual([401, 401]);
});
