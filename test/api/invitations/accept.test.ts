import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newOpaqueToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { bareRefusal, goodPassword, newAddress, openPeople, type People } from '../users/people.ts';

let people: People;
/** A second process of the same deployment. */
let second: People;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  second = await openPeople({ database, keys, redisPrefix });
});

afterAll(async () => {
  await second.close();
  await people.close();
});

interface Invited {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

async function invite(who: string, body: object = {}): Promise<Invited> {
  const made = await people.call(who, 'POST', '/invitations', { body: { email: newAddress(), role: 'member', ...body } });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { id: made.body.id, email: made.body.email, token: await people.tokenOf(made.body.id) };
}

const accept = (
  world: People,
  { email, token }: Pick<Invited, 'email' | 'token'>,
  more: object = {},
  headers: Record<string, string> = {},
) => world.ask('POST', '/invitations/accept', { token, email, password: goodPassword, ...more }, headers);

const statusOf = async (tenant: TestTenant, id: string) =>
  (await people.call(tenant.organizationOwner.token, 'GET', `/invitations/${id}`)).body.status;

test('accepting makes the invited user, with the address verified, and signs in as a login would', async () => {
  const tenant = await people.tenant();
  const invited = await invite(tenant.tokens.admin);

  const accepted = await accept(people, { ...invited, email: invited.email.toUpperCase() }, { full_name: 'Grace' });
  const me = await people.call(accepted.body.access_token, 'GET', '/auth/me');
  const refreshed = await people.ask('POST', '/auth/refresh', { refresh_token: accepted.body.refresh_token });
  const login = await people.ask('POST', '/auth/login', { email: invited.email, password: goodPassword });
  const after = await people.call(tenant.tokens.admin, 'GET', `/invitations/${invited.id}`);

  expect(accepted).toMatchObject({ status: 200, body: { mfa_required: false, token_type: 'Bearer', challenge_id: null, methods: [] } });
  expect(accepted.body.user).toMatchObject({
    email: invited.email,
    full_name: 'Grace',
    role: 'member',
    scope: 'workspace',
    organization_id: tenant.organizationId,
    workspace_id: tenant.workspaceId,
  });
  expect(Object.keys(accepted.body)).toEqual(Object.keys(login.body));
  expect(me.body.user.id).toBe(accepted.body.user.id);
  expect(refreshed.status).toBe(200);
  expect(after.body).toMatchObject({ status: 'accepted', accepted_user_id: accepted.body.user.id });
  expect(after.body.accepted_at).not.toBeNull();
  const [credential] = await people.rows('select email_verified_at is not null as is_verified from user_credentials where user_id = ?', [
    accepted.body.user.id,
  ]);
  expect(credential).toEqual({ is_verified: true });
});

test('the entry of an acceptance is the new user’s own and names no address', async () => {
  const tenant = await people.tenant();
  const invited = await invite(tenant.organizationAdmin.token, { role: 'viewer' });

  const { body } = await accept(people, invited, { full_name: 'Grace' });

  const entries = await people.rows(
    'select action, actor_kind, actor_id, organization_id, changes from audit_entries where resource_id = ?',
    [body.user.id],
  );
  expect(entries).toEqual([
    {
      action: 'create',
      actor_kind: 'user',
      actor_id: body.user.id,
      organization_id: tenant.organizationId,
      changes: {
        email: { changed: true },
        role: { from: null, to: 'viewer' },
        scope: { from: null, to: 'organization' },
        invitation_id: { from: null, to: invited.id },
      },
    },
  ]);
});

test('unknown, used, expired, revoked, or another address: one identical 410, and the right person still gets in', async () => {
  const tenant = await people.tenant();
  const { token } = tenant.organizationAdmin;
  const [open, used, expired, revoked] = [await invite(token), await invite(token), await invite(token), await invite(token)];
  await accept(people, used);
  await people.rows(`update invitations set expires_at = now() where id = ? returning 1`, [expired.id]);
  await people.call(token, 'DELETE', `/invitations/${revoked.id}`);

  const refused = [
    await accept(people, { token: 'nonsense', email: open.email }),
    await accept(people, { token: `lh_ml_${'A'.repeat(43)}`, email: open.email }),
    await accept(people, { token: open.token, email: newAddress() }),
    await accept(people, { token: open.token, email: tenant.users.viewer.email }),
    await accept(people, { token: used.token, email: open.email }),
    await accept(people, used),
    await accept(people, expired),
    await accept(people, revoked),
  ];

  expect(refused[0]).toMatchObject({ status: 410, body: { code: 'gone', context: {} } });
  expect(new Set(refused.map((answer) => JSON.stringify(bareRefusal(answer))))).toHaveProperty('size', 1);
  expect(await statusOf(tenant, open.id)).toBe('pending');
  expect((await accept(people, open)).status).toBe(200);
});

test('a bearer that is sent along is ignored, and X-View-* too', async () => {
  const [tenant, other] = await Promise.all([people.tenant(), people.tenant()]);
  const invited = await invite(tenant.tokens.admin);

  const accepted = await accept(
    people,
    invited,
    {},
    {
      'authorization': `Bearer ${other.tokens.owner}`,
      'x-view-organization': other.organizationId,
    },
  );

  expect(accepted).toMatchObject({ status: 200, body: { user: { organization_id: tenant.organizationId } } });
});

test('of 10 who accept at once on two processes one becomes the user', async () => {
  const tenant = await people.tenant();
  const invited = await invite(tenant.tokens.admin);

  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => accept(n % 2 ? people : second, invited)));
  const users = await people.rows('select id from users where email = ?', [invited.email]);

  expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
  // A look-up that comes after the winner's commit finds the invitation used; so does the update of one that came before.
  expect(all.filter(({ status }) => status === 410)).toHaveLength(9);
  expect(users).toHaveLength(1);
});

test('an inviter who was deactivated, deleted or demoted vouches for nobody', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const { organizationOwner } = tenant;
  const inviters = await Promise.all([0, 1, 2, 3].map(() => people.user(tenant, { role: 'admin' })));
  const invitations = await Promise.all(inviters.map(({ token }) => invite(token)));
  const [off, gone, demoted, moved] = inviters.map(({ id }) => `/users/${id}`);
  const [, other] = tenant.workspaceIds;

  await people.call(organizationOwner.token, 'POST', `${off}/deactivate`);
  await people.call(organizationOwner.token, 'DELETE', `${gone}`);
  await people.call(organizationOwner.token, 'PUT', `${demoted}/role`, { body: { role: 'member' } });
  await people.call(organizationOwner.token, 'PUT', `${moved}/role`, { body: { role: 'admin', scope: 'workspace', workspace_id: other } });
  const refused = await Promise.all(invitations.map((invited) => accept(people, invited)));

  for (const answer of refused) expect(answer).toMatchObject({ status: 410, body: { code: 'gone', context: { reason: 'inviter_rank' } } });
  await people.call(organizationOwner.token, 'PUT', `${demoted}/role`, { body: { role: 'admin' } });
  const [, , third] = invitations;
  expect((await accept(people, third ?? { email: '', token: '' })).status).toBe(200);
});

test('an admin vouches for no owner: a demoted owner’s invitation of one is 410', async () => {
  const tenant = await people.tenant();
  const invited = await invite(tenant.tokens.owner, { role: 'owner' });

  await people.call(tenant.organizationOwner.token, 'PUT', `/users/${tenant.users.owner.id}/role`, { body: { role: 'admin' } });

  expect(await accept(people, invited)).toMatchObject({ status: 410, body: { context: { reason: 'inviter_rank' } } });
});

test('a frozen place is 423, a user of the address 409, and the invitation stays', async () => {
  const [tenant, other] = await Promise.all([people.tenant(), people.tenant()]);
  const { token } = tenant.organizationOwner;
  const invited = await invite(token, { workspace_id: tenant.workspaceId });
  const member = await invite(token);
  const elsewhere = await invite(token, { email: other.users.viewer.email });
  await people.call(token, 'POST', '/users', { body: { email: member.email, role: 'viewer', password: goodPassword } });

  const already = await accept(people, member);
  const belongs = await accept(people, elsewhere);
  await people.rows('update workspaces set is_active = false, archived_at = now() where id = ? returning 1', [tenant.workspaceId]);
  const archived = await accept(people, invited);
  await people.rows('update workspaces set is_active = true, archived_at = null where id = ? returning 1', [tenant.workspaceId]);
  await people.rows(`update organizations set status = 'suspended', suspended_at = now() where id = ? returning 1`, [
    tenant.organizationId,
  ]);
  const suspended = await accept(people, invited);
  await people.rows(`update organizations set status = 'active', suspended_at = null where id = ? returning 1`, [tenant.organizationId]);

  expect(already).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'already_member' } } });
  expect(belongs).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'belongs_elsewhere' } } });
  expect(archived).toMatchObject({ status: 423, body: { context: { reason: 'workspace_archived' } } });
  expect(suspended).toMatchObject({ status: 423, body: { context: { reason: 'organization_suspended' } } });
  expect((await accept(people, invited)).status).toBe(200);
});

test('an acceptance and a createUser of one address at once make one user', async () => {
  const tenant = await people.tenant();
  const rounds = await Promise.all(Array.from({ length: 6 }, () => invite(tenant.organizationOwner.token)));

  for (const invited of rounds) {
    const [accepted, created] = await Promise.all([
      accept(second, invited),
      people.call(tenant.organizationOwner.token, 'POST', '/users', {
        body: { email: invited.email, role: 'viewer', password: goodPassword },
      }),
    ]);
    const users = await people.rows('select id from users where email = ?', [invited.email]);

    expect(users).toHaveLength(1);
    expect([
      [200, 409],
      [409, 201],
    ]).toContainEqual([accepted.status, created.status]);
  }
});

test('where a second factor is demanded, the new session leads to enrolment and nowhere else', async () => {
  const tenant = await people.tenant({ requireMfa: true });
  const [email, token] = [newAddress(), newOpaqueToken('mail')];
  // Nobody of this tenant has a factor yet, so nobody could invite.
  await people.rows(
    `insert into invitations (id, organization_id, scope, email, role, token_hash, expires_at)
     values (gen_random_uuid(), ?, 'organization', ?, 'viewer', ?, now() + interval '1 day') returning id`,
    [tenant.organizationId, email, tokenHash(token)],
  );

  const accepted = await accept(people, { email, token });
  const me = await people.call(accepted.body.access_token, 'GET', '/auth/me');
  const other = await people.call(accepted.body.access_token, 'GET', '/agents');

  expect(accepted).toMatchObject({ status: 200, body: { mfa_required: false } });
  expect(me).toMatchObject({ status: 200, body: { mfa: { enrolled: false, required: true } } });
  expect(other).toMatchObject({ status: 401, body: { code: 'mfa_required', context: { reason: 'enrolment_required' } } });
});

test('a weak password is 422 whatever the token, and uses nothing up', async () => {
  const tenant = await people.tenant();
  const invited = await invite(tenant.tokens.admin);

  const right = await accept(people, invited, { password: 'passwordpassword' });
  const wrong = await accept(people, { ...invited, token: 'nonsense' }, { password: 'passwordpassword' });

  expect(right).toMatchObject({ status: 422, body: { errors: [{ pointer: '/password', rule: 'password_guessable' }] } });
  expect(bareRefusal(wrong)).toEqual(bareRefusal(right));
  expect((await accept(people, invited)).status).toBe(200);
});

test('10 tries a minute and client, counted before anything is looked up', async () => {
  const limited = await openPeople({ env: { RATE_LIMITS: 'anonymous=100000/60' } });
  const statuses: number[] = [];

  for (let n = 0; n < 12; n += 1) statuses.push((await accept(limited, { email: newAddress(), token: 'nonsense' })).status);
  const last = await accept(limited, { email: newAddress(), token: 'nonsense' });

  // A try that comes before the limiter's connection is there is counted in the process, not in Redis.
  const admitted = statuses.indexOf(429);
  expect([10, 11]).toContain(admitted);
  expect(new Set(statuses.slice(0, admitted))).toEqual(new Set([410]));
  expect(last.body.context.violated_policies).toEqual(['invitation_accept']);
  await limited.close();
});
