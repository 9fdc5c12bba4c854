import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld } from '../world.ts';
import { goodPassword, newAddress, openPeople, type People } from './people.ts';

let people: People;

beforeAll(async () => {
  people = await openPeople();
});

afterAll(() => people.close());

const create = (token: string, body: object, headers: Record<string, string> = {}) =>
  people.call(token, 'POST', '/users', { body: { email: newAddress(), role: 'member', password: goodPassword, ...body }, headers });

test('createUser makes a user at the home of its maker, who signs in with the password and whose address is unverified', async () => {
  const { tokens, organizationId, workspaceId } = await people.tenant();
  const email = newAddress();

  const made = await create(tokens.admin, { email: email.toUpperCase(), full_name: 'Ada' });
  const read = await people.call(tokens.viewer, 'GET', `/users/${made.body.id}`);
  const login = await people.ask('POST', '/auth/login', { email, password: goodPassword });

  expect(made).toMatchObject({ status: 201, headers: { location: `/users/${made.body.id}` } });
  expect(made.body).toMatchObject({
    email,
    full_name: 'Ada',
    role: 'member',
    scope: 'workspace',
    organization_id: organizationId,
    workspace_id: workspaceId,
    is_active: true,
    mfa_enabled: false,
    last_login_at: null,
  });
  expect(read.body).toEqual(made.body);
  expect(login).toMatchObject({ status: 200, body: { mfa_required: false, user: { id: made.body.id } } });
  const [credential] = await people.rows('select email_verified_at from user_credentials where user_id = ?', [made.body.id]);
  expect(credential).toEqual({ email_verified_at: null });
});

test('its audit entry names neither address nor name', async () => {
  const { tokens, workspaceId } = await people.tenant();

  const { body } = await create(tokens.admin, { full_name: 'Ada' });

  expect(await people.entriesOf(body.id)).toEqual([
    {
      action: 'create',
      operation_id: 'createUser',
      workspace_id: workspaceId,
      changes: {
        email: { changed: true },
        full_name: { changed: true },
        role: { from: null, to: 'member' },
        scope: { from: null, to: 'workspace' },
        workspace_id: { from: null, to: workspaceId },
      },
    },
  ]);
});

test('nobody gives a rank or scope above their own', async () => {
  const { tokens, organizationAdmin, organizationOwner, workspaceId } = await people.tenant();

  const owner = await create(tokens.admin, { role: 'owner' });
  const operator = await create(organizationOwner.token, { role: 'operator', scope: 'platform' });
  const wider = await create(tokens.owner, { role: 'member', scope: 'organization' });
  const orgOwner = await create(organizationAdmin.token, { role: 'owner' });
  const orgAdmin = await create(organizationAdmin.token, { role: 'admin' });
  const narrower = await create(organizationAdmin.token, { role: 'admin', workspace_id: workspaceId });

  expect(owner).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'rank' } } });
  expect(operator).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(wider).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'scope_too_wide' } } });
  expect(orgOwner).toMatchObject({ status: 403, body: { context: { reason: 'rank' } } });
  expect(orgAdmin).toMatchObject({ status: 201, body: { scope: 'organization', workspace_id: null } });
  expect(narrower).toMatchObject({ status: 201, body: { scope: 'workspace', workspace_id: workspaceId } });
});

test('an operator makes operators, and users of an organization through X-View-Organization', async () => {
  const { tokens, organizationId } = await people.tenant();
  const view = { 'x-view-organization': organizationId };

  const operator = await create(tokens.operator, { role: 'operator' });
  const member = await create(tokens.operator, { role: 'owner', scope: 'organization' }, view);
  const misfit = await create(tokens.operator, { role: 'operator', scope: 'organization' }, view);
  const other = await create(tokens.operator, { role: 'admin', scope: 'platform' });

  expect(operator).toMatchObject({ status: 201, body: { role: 'operator', scope: 'platform', organization_id: null } });
  expect(member).toMatchObject({ status: 201, body: { organization_id: organizationId } });
  expect(misfit).toMatchObject({ status: 422, body: { errors: [{ pointer: '/role', rule: 'range' }] } });
  expect(other).toMatchObject({ status: 422, body: { errors: [{ pointer: '/role', rule: 'range' }] } });
});

test('a workspace that the caller does not see is the same 422 as none', async () => {
  const [mine, other] = await Promise.all([people.tenant(), people.tenant()]);

  const foreign = await create(mine.organizationAdmin.token, { workspace_id: other.workspaceId });
  const unknown = await create(mine.organizationAdmin.token, { workspace_id: '01900000-0000-7000-8000-000000000001' });

  expect(foreign).toMatchObject({ status: 422, body: { errors: [{ pointer: '/workspace_id', rule: 'reference' }] } });
  expect(unknown.body.errors).toEqual(foreign.body.errors);
});

test('an address in use anywhere is 409, whatever its case, and what the server sets is in no body', async () => {
  const [mine, other] = await Promise.all([people.tenant(), people.tenant()]);

  const taken = await create(mine.tokens.admin, { email: other.users.viewer.email.toUpperCase() });
  const fields = ['email_verified_at', 'is_active', 'organization_id', 'mfa_enabled'];
  const extra = await Promise.all(fields.map((field) => create(mine.tokens.admin, { [field]: null })));

  expect(taken).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'email' } } });
  expect(extra.map(({ status, body }) => [status, body.errors[0].rule])).toEqual(fields.map(() => [422, 'unknown_field']));
});

test('a weak password is 422 at its place', async () => {
  const { tokens } = await people.tenant();

  const short = await create(tokens.admin, { password: 'short one 42' });
  const guessable = await create(tokens.admin, { password: 'passwordpassword' });

  expect(short).toMatchObject({ status: 422, body: { errors: [{ pointer: '/password', rule: 'password_too_short' }] } });
  expect(guessable).toMatchObject({ status: 422, body: { errors: [{ pointer: '/password', rule: 'password_guessable' }] } });
});

test('without a password the user gets a mail to choose one, as long as the organization lets it live', async () => {
  const { tokens, organizationId } = await people.tenant();
  await people.rows('update organization_settings set invitation_days = 3 where organization_id = ? returning organization_id', [
    organizationId,
  ]);

  const made = await create(tokens.admin, { password: undefined });

  const [challenge] = await people.rows(
    `select c.purpose, c.id = o.id as is_of_mail, round(extract(epoch from c.expires_at - now()) / 86400) as days, o.payload -> 'mail' as mail
       from auth_challenges c join outbox o on o.id = c.id where c.user_id = ?`,
    [made.body.id],
  );
  expect(made.status).toBe(201);
  expect(challenge).toEqual({
    purpose: 'password_reset',
    is_of_mail: true,
    days: '3',
    mail: { template: 'password_set', userId: made.body.id },
  });
});

test('the token of that mail sets the first password, once', async () => {
  const { tokens } = await people.tenant();
  const made = await create(tokens.admin, { password: undefined });
  const token = await people.tokenOf(made.body.id);
  const login = () => people.ask('POST', '/auth/login', { email: made.body.email, password: goodPassword });

  const before = await login();
  const set = await people.ask('POST', '/auth/password/reset', { token, new_password: goodPassword });
  const again = await people.ask('POST', '/auth/password/reset', { token, new_password: goodPassword });

  expect(before.status).toBe(401);
  expect(set.status).toBeLessThan(300);
  expect(again).toMatchObject({ status: 410, body: { code: 'gone' } });
  expect((await login()).status).toBe(200);
});

test('a deployment without a mailer demands the password', async () => {
  const silent = await openWorld();
  const { tokens } = await silent.tenant();

  const refused = await silent.call(tokens.admin, 'POST', '/users', { body: { email: newAddress(), role: 'member' } });
  const made = await silent.call(tokens.admin, 'POST', '/users', { body: { email: newAddress(), role: 'member', password: goodPassword } });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/password', rule: 'required' }] } });
  expect(made.status).toBe(201);
  await silent.close();
});

test('an address is 422 that only looks like another: invisible characters, other forms of a domain', async () => {
  const { tokens } = await people.tenant();
  const name = newAddress().split('@')[0];
  const hidden = [0x200b, 0x2060, 0xad, 0xfeff, 0x202e, 0xfe0f].map((code) => `${name}@example.test${String.fromCodePoint(code)}`);
  const mapped = ['example\u3002test', 'example\uff0etest', '\uff45xample.test'].map((domain) => `${name}@${domain}`);

  for (const email of [...hidden, ...mapped]) {
    expect(await create(tokens.admin, { email })).toMatchObject({ status: 422, body: { errors: [{ pointer: '/email', rule: 'format' }] } });
  }
  for (const email of [`\u00e5sa-${name}@stra\u00dfe.test`, `o\u0308-${name}@\u0437\u043e\u043d\u0430.test`]) {
    expect((await create(tokens.admin, { email })).status).toBe(201);
  }
});

test('an address outside allowed_email_domains is 422', async () => {
  const { tokens, organizationId } = await people.tenant();
  await people.rows(`update organization_settings set allowed_email_domains = '{Allowed.test}' where organization_id = ? returning 1`, [
    organizationId,
  ]);

  const refused = await create(tokens.admin, {});
  const sub = await create(tokens.admin, { email: newAddress('sub.allowed.test') });
  const made = await create(tokens.admin, { email: newAddress('ALLOWED.test') });

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/email', rule: 'email_domain' }] } });
  expect(sub.status).toBe(422);
  expect(made.status).toBe(201);
});

test('an organization makes at most 200 users a day, also when two are made at once', async () => {
  const { tokens, organizationId, workspaceId } = await people.tenant();
  await people.rows(
    `insert into users (id, email, role, scope, organization_id, workspace_id)
     select gen_random_uuid(), 'filler-' || n || ?, 'viewer', 'workspace', ?, ? from generate_series(1, 193) n returning 1`,
    [newAddress(), organizationId, workspaceId],
  );

  // With the six users of the tenant that is 199.
  const both = await Promise.all([create(tokens.admin, {}), create(tokens.owner, {})]);
  const statuses = both.map(({ status }) => status).toSorted();
  const refused = both.find(({ status }) => status === 429);

  expect(statuses).toEqual([201, 429]);
  expect(refused).toMatchObject({ body: { code: 'rate_limited', context: { violated_policies: ['user_create'] } } });
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
});

test('tries that tell that an address is in use count against the day too', async () => {
  const limited = await openPeople({ env: { RATE_LIMITS: 'user_create=2/86400' } });
  const tenant = await limited.tenant();
  const probe = (email: string) =>
    limited.call(tenant.tokens.admin, 'POST', '/users', { body: { email, role: 'viewer', password: goodPassword } });

  const statuses = [await probe(tenant.users.viewer.email), await probe(tenant.users.owner.email), await probe(newAddress())];

  expect(statuses.map(({ status }) => status)).toEqual([409, 409, 429]);
  expect(statuses[2]?.body.context.violated_policies).toEqual(['user_create']);
  await limited.close();
});

test('one Idempotency-Key makes one user', async () => {
  const { tokens } = await people.tenant();
  const body = { email: newAddress() };
  const headers = { 'idempotency-key': 'one-user' };

  const first = await create(tokens.admin, body, headers);
  const again = await create(tokens.admin, body, headers);

  expect(first.status).toBe(201);
  expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' }, body: first.body });
});
