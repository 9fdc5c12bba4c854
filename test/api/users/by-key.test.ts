import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant, TestUser } from '../../support/tenant.ts';
import { basic, grantTo, openOauth, type OauthWorld } from '../oauth/client.ts';
import { openWorld, type Answer, type CallOptions } from '../world.ts';
import { goodPassword, newAddress, openPeople, type People } from './people.ts';

let people: People;
/** The same deployment, as apps see it. */
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

const scope = 'organizations:read organizations:write';
const kinds = ['service key', 'OAuth grant', 'OAuth client'] as const;

/** A credential that is no person's session: all of the organization, admin at least, with the scopes of organizations alone. */
async function credentialOf(kind: (typeof kinds)[number], { organizationOwner, organizationId, tokens }: TestTenant): Promise<string> {
  switch (kind) {
    case 'service key': {
      const body = { name: 'provisioning', role: 'admin', scope: 'organization', scopes: scope.split(' ') };
      return (await people.call(organizationOwner.token, 'POST', '/service-keys', { body })).body.plaintext;
    }
    case 'OAuth grant':
      return (await grantTo(oauth, await oauth.client(tokens.operator), organizationOwner, { scope })).access;
    case 'OAuth client': {
      const own = { token_endpoint_auth_method: 'client_secret_basic', grant_types: ['client_credentials'], redirect_uris: [] };
      const client = await oauth.client(tokens.operator, { ...own, organization_id: organizationId, role: 'admin', scope });
      return (await oauth.form('/oauth/token', { grant_type: 'client_credentials', scope }, basic(client))).body.access_token;
    }
    default:
      return kind satisfies never;
  }
}

/** People above member and what hangs on them, and one below. */
async function staff() {
  const tenant = await people.tenant({ workspaces: 2 });
  const [first = '', second = ''] = tenant.workspaceIds;
  const admin = await people.user(tenant, { role: 'admin' });
  const [idle, member] = [await people.user(tenant, { role: 'admin' }), await people.user(tenant, { role: 'viewer' })];
  const { token } = tenant.organizationOwner;
  await people.call(token, 'POST', `/users/${idle.id}/deactivate`);
  await people.call(token, 'PUT', `/workspaces/${second}/members/${admin.id}`, { body: { role: 'viewer' } });
  const invited = await people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'admin', workspace_id: first } });
  return { tenant, first, second, admin, idle, member, invited: String(invited.body.id) };
}

const stateOf = ({ organizationId }: TestTenant) =>
  people.rows(
    `select u.id, u.role, u.scope, u.is_active, u.deleted_at, (select count(*) from workspace_grants g where g.user_id = u.id) as grants,
       (select count(*) from invitations i where i.organization_id = u.organization_id and i.status = 'pending') as invited
     from users u where u.organization_id = ? order by u.id`,
    [organizationId],
  );

type Tried = readonly ['POST' | 'PUT' | 'DELETE', string, CallOptions['body']?];

const above = ({ first, second, admin, idle, member, invited }: Awaited<ReturnType<typeof staff>>): Readonly<Record<string, Tried>> => ({
  'makes an admin': ['POST', '/users', { email: newAddress(), role: 'admin', workspace_id: first }],
  'sets a password': ['POST', '/users', { email: newAddress(), role: 'member', workspace_id: first, password: goodPassword }],
  'raises a member': ['PUT', `/users/${member.id}/role`, { role: 'admin' }],
  'lowers an admin': ['PUT', `/users/${admin.id}/role`, { role: 'viewer' }],
  'deactivates an admin': ['POST', `/users/${admin.id}/deactivate`],
  'reactivates an admin': ['POST', `/users/${idle.id}/reactivate`],
  'grants a rank above member': ['PUT', `/workspaces/${second}/members/${member.id}`, { role: 'admin' }],
  'grants an admin': ['PUT', `/workspaces/${second}/members/${admin.id}`, { role: 'member' }],
  'ends the grant of an admin': ['DELETE', `/workspaces/${second}/members/${admin.id}`],
  'invites an admin': ['POST', '/invitations', { email: newAddress(), role: 'admin', workspace_id: first }],
  'sends an admin’s invitation again': ['POST', `/invitations/${invited}/resend`],
  'revokes an admin’s invitation': ['DELETE', `/invitations/${invited}`],
});

const needsSession = {
  status: 403,
  headers: { 'www-authenticate': expect.stringContaining('insufficient_scope') },
  body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } },
};

test.each(kinds)('above member nobody is made, invited, raised, revived or put out by a mere %s', async (kind) => {
  const world = await staff();
  const credential = await credentialOf(kind, world.tenant);
  const before = await stateOf(world.tenant);

  for (const [what, [method, path, body]] of Object.entries(above(world))) {
    const refused = await people.call(credential, method, path, body === undefined ? {} : { body });
    expect({ what, ...refused }).toMatchObject({ what, ...needsSession });
  }

  expect(await stateOf(world.tenant)).toEqual(before);
});

test('nor is anybody above member erased by an owner’s OAuth grant', async () => {
  const { tenant, admin } = await staff();

  const refused = await people.call(await credentialOf('OAuth grant', tenant), 'DELETE', `/users/${admin.id}`);

  expect(refused).toMatchObject(needsSession);
});

test('nor by a key that acts as an owner', async () => {
  const { tenant, invited } = await staff();
  const credential = await credentialOf('service key', tenant);
  const headers = { 'x-acting-user': tenant.users.admin.id };

  expect(await people.call(credential, 'DELETE', `/invitations/${invited}`, { headers })).toMatchObject(needsSession);
});

test('nor is an invitation of an admin replaced by a key’s own of the same address', async () => {
  const { tenant, first } = await staff();
  const email = newAddress();
  await people.call(tenant.organizationOwner.token, 'POST', '/invitations', { body: { email, role: 'admin', workspace_id: first } });

  const refused = await people.call(await credentialOf('service key', tenant), 'POST', '/invitations', {
    body: { email, role: 'viewer', workspace_id: first },
  });

  expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists' } });
});

test.each(kinds)('viewers and members are provisioned by a %s as before', async (kind) => {
  const { tenant, first, second, admin, member } = await staff();
  const credential = await credentialOf(kind, tenant);
  const call = async (...[method, path, body]: Tried): Promise<[string, number]> => {
    const { status }: Answer = await people.call(credential, method, path, body === undefined ? {} : { body });
    return [`${method} ${path}`, status];
  };
  const user = `/users/${member.id}`;

  const done = [
    await call('POST', '/users', { email: newAddress(), role: 'member', workspace_id: first }),
    await call('POST', '/invitations', { email: newAddress(), role: 'member', workspace_id: first }),
    await call('PUT', `${user}/role`, { role: 'member' }),
    await call('PUT', `/workspaces/${second}/members/${member.id}`, { role: 'viewer' }),
    await call('DELETE', `/workspaces/${second}/members/${member.id}`),
    await call('POST', `${user}/deactivate`),
    await call('POST', `${user}/reactivate`),
  ];
  const renamed = await people.call(credential, 'PATCH', `/users/${admin.id}`, { body: { full_name: 'Ada' } });

  expect(done.filter(([, status]) => status >= 300)).toEqual([]);
  expect(renamed.status).toBe(200);
});

test('a person in a session does all of it', async () => {
  const world = await staff();
  const rows = Object.entries(above(world));
  const statuses: [string, number][] = [];

  for (const [what, [method, path, body]] of rows)
    statuses.push([
      what,
      (await people.call(world.tenant.organizationOwner.token, method, path, body === undefined ? {} : { body })).status,
    ]);

  // The admin is a viewer by then, and has no more than that to be granted.
  const expected = new Map([['grants an admin', 409]]);
  expect(statuses.filter(([what, status]) => (expected.get(what) ?? 200) !== (status < 300 ? 200 : status))).toEqual([]);
});

test('the user whom a key makes chooses the password by the mailed link; where no mails are sent, a key makes nobody and says why', async () => {
  const silent = await openWorld();
  const { serviceKey } = await silent.tenant();

  const refused = await silent.call(serviceKey.plaintext, 'POST', '/users', { body: { email: newAddress(), role: 'viewer' } });

  expect(refused).toMatchObject({ status: 403, body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } } });
  expect(refused.body.detail).toMatch(/cannot send mail/);
  await silent.close();
});

test('the number of the day is not counted for what a key may not do', async () => {
  const limited = await openPeople({ env: { RATE_LIMITS: 'user_create=1/86400' } });
  const { serviceKey, tokens } = await limited.tenant();
  const post = (who: string, body: object) => limited.call(who, 'POST', '/users', { body: { email: newAddress(), ...body } });

  const refused = await post(serviceKey.plaintext, { role: 'admin' });
  const made = await post(tokens.admin, { role: 'viewer', password: goodPassword });

  expect([refused.status, made.status]).toEqual([403, 201]);
  await limited.close();
});

interface Invited {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

async function inviteBy(credential: string, workspaceId: string): Promise<Invited> {
  const made = await people.call(credential, 'POST', '/invitations', {
    body: { email: newAddress(), role: 'viewer', workspace_id: workspaceId },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { id: made.body.id, email: made.body.email, token: await people.tokenOf(made.body.id) };
}

const accept = async ({ id, email }: Invited, token?: string) =>
  people.ask('POST', '/invitations/accept', { token: token ?? (await people.tokenOf(id)), email, password: goodPassword });

const ends: Readonly<Record<(typeof kinds)[number], (tenant: TestTenant) => Promise<unknown>>> = {
  'service key': async ({ organizationOwner }) => {
    const { items } = (await people.call(organizationOwner.token, 'GET', '/service-keys?q=provisioning')).body;
    return people.call(organizationOwner.token, 'DELETE', `/service-keys/${items[0].id}`);
  },
  'OAuth grant': async ({ organizationOwner }) => {
    const { items } = (await people.call(organizationOwner.token, 'GET', '/sessions?kind=oauth')).body;
    return people.call(organizationOwner.token, 'DELETE', `/sessions/${items[0].id}`);
  },
  'OAuth client': async ({ tokens, organizationId }) => {
    const [client] = await people.rows<{ client_id: string }>('select client_id from oauth_clients where organization_id = ?', [
      organizationId,
    ]);
    return oauth.remove(`/oauth-clients/${client?.client_id}`, tokens.operator);
  },
};

test.each(kinds)('an invitation dies with the %s that made it, until somebody who may invite sends it anew', async (kind) => {
  const tenant = await people.tenant();
  const invited = await inviteBy(await credentialOf(kind, tenant), tenant.workspaceId);

  await ends[kind](tenant);
  const refused = await accept(invited);
  const sent = await people.call(tenant.tokens.admin, 'POST', `/invitations/${invited.id}/resend`);
  const accepted = await accept(invited);

  expect(refused).toMatchObject({ status: 410, body: { code: 'gone', context: { reason: 'inviter_rank' } } });
  expect(sent).toMatchObject({ status: 202, body: { invited_by_user_id: tenant.users.admin.id } });
  expect(accepted.status).toBe(200);
});

test('a key that was rotated or has run out has ended by nobody’s distrust: its invitations are accepted', async () => {
  const tenant = await people.tenant();
  const credential = await credentialOf('service key', tenant);
  const [rotated, over] = [await inviteBy(credential, tenant.workspaceId), await inviteBy(credential, tenant.workspaceId)];
  const { items } = (await people.call(tenant.organizationOwner.token, 'GET', '/service-keys?q=provisioning')).body;

  await people.call(tenant.organizationOwner.token, 'POST', `/service-keys/${items[0].id}/rotate`);
  const first = await accept(rotated);
  await people.rows(`update service_keys set expires_at = now() where id = ? returning 1`, [items[0].id]);

  expect([first.status, (await accept(over)).status]).toEqual([200, 200]);
});

test('an invitation whose inviter was deactivated stays dead when the inviter comes back, and lives when another sends it anew', async () => {
  const tenant = await people.tenant();
  const inviter: TestUser = await people.user(tenant, { role: 'admin' });
  const invited = await inviteBy(inviter.token, tenant.workspaceId);
  const { token } = tenant.organizationOwner;

  await people.call(token, 'POST', `/users/${inviter.id}/deactivate`);
  await people.call(token, 'POST', `/users/${inviter.id}/reactivate`);
  const refused = await accept(invited);
  const sent = await people.call(tenant.tokens.admin, 'POST', `/invitations/${invited.id}/resend`);
  const accepted = await accept(invited);

  expect(refused).toMatchObject({ status: 410, body: { context: { reason: 'inviter_rank' } } });
  expect(sent.body).toMatchObject({ status: 'pending', invited_by_user_id: tenant.users.admin.id });
  expect(accepted.status).toBe(200);
});

test('an address that the organization admits no more is neither accepted nor sent to again', async () => {
  const tenant = await people.tenant();
  const invited = await inviteBy(tenant.tokens.admin, tenant.workspaceId);
  const domains = (value: string) =>
    people.rows('update organization_settings set allowed_email_domains = ?::text[] where organization_id = ? returning 1', [
      value,
      tenant.organizationId,
    ]);

  await domains('{allowed.test}');
  const refused = await accept(invited);
  const sent = await people.call(tenant.tokens.admin, 'POST', `/invitations/${invited.id}/resend`);
  await domains('{}');

  expect(refused).toMatchObject({ status: 410, body: { code: 'gone', context: { reason: 'email_domain' } } });
  expect(sent).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'email_domain' } } });
  expect((await accept(invited)).status).toBe(200);
});

test('who sends an invitation anew as another user vouches for it in person', async () => {
  const tenant = await people.tenant();
  const [first, second] = [
    await inviteBy(tenant.tokens.admin, tenant.workspaceId),
    await inviteBy(tenant.tokens.admin, tenant.workspaceId),
  ];
  const resend = (token: string, { id }: Invited, headers = {}) => people.call(token, 'POST', `/invitations/${id}/resend`, { headers });
  const begun = await people.call(tenant.tokens.operator, 'POST', '/impersonations', {
    body: { user_id: tenant.users.admin.id, reason: 'Support case 4711' },
  });

  const acting = await resend(tenant.organizationOwner.token, first, { 'x-acting-user': tenant.users.admin.id });
  const impersonated = await resend(begun.body.access_token, second);

  expect(acting).toMatchObject({ status: 202, body: { invited_by_user_id: tenant.organizationOwner.id } });
  expect(impersonated).toMatchObject({ status: 202, body: { invited_by_user_id: tenant.users.operator.id } });
  expect([(await accept(first)).status, (await accept(second)).status]).toEqual([200, 200]);
});
