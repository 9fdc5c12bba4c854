import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { openWorld } from '../world.ts';
import { bareRefusal, goodPassword, newAddress, openPeople, type People } from '../users/people.ts';

let people: People;
const nobody = '01900000-0000-7000-8000-000000000009';

beforeAll(async () => {
  people = await openPeople();
});

afterAll(() => people.close());

const invite = (token: string, body: object = {}, headers: Record<string, string> = {}) =>
  people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'member', ...body }, headers });

test('createInvitation invites to the home of its maker and mails a token of which only the digest is stored', async () => {
  const { tokens, users, organizationId, workspaceId } = await people.tenant();
  const email = newAddress();

  const made = await invite(tokens.admin, { email: email.toUpperCase() });
  const read = await people.call(tokens.admin, 'GET', `/invitations/${made.body.id}`);

  expect(made).toMatchObject({ status: 201, headers: { location: `/invitations/${made.body.id}` } });
  expect(made.body).toMatchObject({
    email,
    role: 'member',
    scope: 'workspace',
    organization_id: organizationId,
    workspace_id: workspaceId,
    status: 'pending',
    invited_by_user_id: users.admin.id,
    sent_at: null,
    send_count: 0,
    accepted_at: null,
    accepted_user_id: null,
  });
  expect(Date.parse(made.body.expires_at) - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
  expect(read.body).toEqual(made.body);
  const token = await people.tokenOf(made.body.id);
  const [row] = await people.rows('select i::text as all_of_it, token_hash from invitations i where id = ?', [made.body.id]);
  expect(row?.['token_hash']).toEqual(tokenHash(token));
  expect(row?.['all_of_it']).not.toContain(token);
  expect(await people.entriesOf(made.body.id)).toEqual([
    {
      action: 'create',
      operation_id: 'createInvitation',
      workspace_id: workspaceId,
      changes: { email: { changed: true }, role: { from: null, to: 'member' }, scope: { from: null, to: 'workspace' } },
    },
  ]);
});

test('R1 and the scope rules hold for invitations, and a rank of the platform is in no body', async () => {
  const [tenant, other] = await Promise.all([people.tenant(), people.tenant()]);
  const { tokens, organizationAdmin, workspaceId, organizationId } = tenant;

  const higher = await invite(tokens.admin, { role: 'owner' });
  const wider = await invite(tokens.owner, { scope: 'organization' });
  const operator = await invite(tokens.owner, { role: 'operator' });
  const foreign = await invite(organizationAdmin.token, { workspace_id: other.workspaceId });
  const unknown = await invite(organizationAdmin.token, { workspace_id: nobody });
  const whole = await invite(organizationAdmin.token, { role: 'admin' });
  const narrow = await invite(organizationAdmin.token, { workspace_id: workspaceId });
  const unbounded = await invite(tokens.operator);
  const viewed = await invite(tokens.operator, { role: 'owner' }, { 'x-view-organization': organizationId });

  expect(higher).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'rank' } } });
  expect(wider).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'scope_too_wide' } } });
  expect(operator).toMatchObject({ status: 422, body: { errors: [{ pointer: '/role', rule: 'enum' }] } });
  expect(foreign).toMatchObject({ status: 422, body: { errors: [{ pointer: '/workspace_id', rule: 'reference' }] } });
  expect(bareRefusal(unknown)).toEqual(bareRefusal(foreign));
  expect(whole).toMatchObject({ status: 201, body: { scope: 'organization', workspace_id: null } });
  expect(narrow).toMatchObject({ status: 201, body: { scope: 'workspace', workspace_id: workspaceId } });
  expect(unbounded.status).toBe(422);
  expect(viewed).toMatchObject({ status: 201, body: { scope: 'organization', organization_id: organizationId, role: 'owner' } });
});

test('an invitation by a service key is its maker’s', async () => {
  const { serviceKey, organizationOwner } = await people.tenant();

  const made = await invite(serviceKey.plaintext);

  expect(made).toMatchObject({ status: 201, body: { invited_by_user_id: organizationOwner.id } });
});

test('a user of the organization is 409, a user elsewhere is not told', async () => {
  const [mine, other] = await Promise.all([people.tenant({ workspaces: 2 }), people.tenant()]);

  const member = await invite(mine.tokens.admin, { email: mine.organizationOwner.email.toUpperCase() });
  const foreign = await invite(mine.tokens.admin, { email: other.users.viewer.email });

  expect(member).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'email' } } });
  expect(foreign.status).toBe(201);
});

test('an address outside allowed_email_domains is 422', async () => {
  const { tokens, organizationId } = await people.tenant();
  await people.rows(`update organization_settings set allowed_email_domains = '{allowed.test}' where organization_id = ? returning 1`, [
    organizationId,
  ]);

  expect(await invite(tokens.admin)).toMatchObject({ status: 422, body: { errors: [{ pointer: '/email', rule: 'email_domain' }] } });
  expect((await invite(tokens.admin, { email: newAddress('Allowed.Test') })).status).toBe(201);
});

test('inviting an address again revokes the earlier invitation, unless that is not the caller’s to change', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other = ''] = tenant.workspaceIds;
  const { tokens, organizationOwner } = tenant;
  const [email, wide, hidden] = [newAddress(), newAddress(), newAddress()];

  const first = await invite(tokens.admin, { email });
  const again = await invite(tokens.admin, { email, role: 'viewer' });
  await invite(organizationOwner.token, { email: wide });
  await invite(organizationOwner.token, { email: hidden, workspace_id: other });
  const ofWide = await invite(tokens.owner, { email: wide });
  const ofHidden = await invite(tokens.owner, { email: hidden });

  const before = await people.call(tokens.admin, 'GET', `/invitations/${first.body.id}`);
  expect(again.status).toBe(201);
  expect(before.body.status).toBe('revoked');
  for (const refused of [ofWide, ofHidden]) expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists' } });
});

test('an invitation that is over holds its address no longer, also in a workspace out of sight', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other] = tenant.workspaceIds;
  const email = newAddress();
  const hidden = await invite(tenant.organizationOwner.token, { email, workspace_id: other });
  await people.rows(`update invitations set expires_at = now() - interval '1 second' where id = ? returning 1`, [hidden.body.id]);

  const made = await invite(tenant.tokens.admin, { email });
  const before = await people.call(tenant.organizationOwner.token, 'GET', `/invitations/${hidden.body.id}`);

  expect(made.status).toBe(201);
  expect(before.body.status).toBe('revoked');
  expect(
    (await people.ask('POST', '/invitations/accept', { email, token: await people.tokenOf(hidden.body.id), password: goodPassword }))
      .status,
  ).toBe(410);
});

test('nor does one that is over and would not be the caller’s to change: to the whole organization, or to a higher rank', async () => {
  const { tokens, organizationOwner, workspaceId } = await people.tenant();
  const [wide, above] = [newAddress(), newAddress()];
  const before = [
    await invite(organizationOwner.token, { email: wide }),
    await invite(organizationOwner.token, { email: above, workspace_id: workspaceId, role: 'owner' }),
  ].map(({ body }) => body.id);
  await people.rows(`update invitations set expires_at = now() - interval '1 second' where id = any(?::uuid[]) returning 1`, [before]);

  const made = [await invite(tokens.admin, { email: wide }), await invite(tokens.admin, { email: above })];

  expect(made.map(({ status }) => status)).toEqual([201, 201]);
  for (const id of before) expect((await people.call(organizationOwner.token, 'GET', `/invitations/${id}`)).body.status).toBe('revoked');
});

test('of two invitations of one address at once one is pending', async () => {
  const { tokens } = await people.tenant();
  const email = newAddress();

  const both = await Promise.all([invite(tokens.admin, { email }), invite(tokens.owner, { email })]);
  const pending = await people.rows(`select 1 from invitations where email = ? and status = 'pending'`, [email]);

  expect(pending).toHaveLength(1);
  for (const { status } of both) expect([201, 409]).toContain(status);
});

test('at most 100 are pending in an organization, those of other workspaces among them', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other] = tenant.workspaceIds;
  const email = newAddress();
  const fill = (count: number, end: string) =>
    people.rows(
      `insert into invitations (id, organization_id, workspace_id, scope, email, role, token_hash, expires_at)
       select gen_random_uuid(), ?, ?, 'workspace', n || ?, 'viewer', sha256((n || ?)::bytea), now() + ?::interval from generate_series(1, ?::int) n returning 1`,
      [tenant.organizationId, other, newAddress(), newAddress(), end, count],
    );
  await fill(99, '1 day');
  await fill(5, '-1 day');

  const last = await invite(tenant.tokens.admin, { email });
  const over = await invite(tenant.tokens.admin);
  const again = await invite(tenant.tokens.admin, { email });

  expect(last.status).toBe(201);
  expect(over).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'limit_reached' } } });
  // It takes the place of its own earlier one.
  expect(again.status).toBe(201);
});

test('a deployment without a mailer invites nobody', async () => {
  const silent = await openWorld();
  const { tokens } = await silent.tenant();

  const refused = await silent.call(tokens.admin, 'POST', '/invitations', { body: { email: newAddress(), role: 'member' } });

  expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'no_mailer' } } });
  await silent.close();
});

test('invitations are seen by workspace, those of the organization by callers of all of it', async () => {
  const [tenant, foreign] = await Promise.all([people.tenant({ workspaces: 2 }), people.tenant()]);
  const [, other = ''] = tenant.workspaceIds;
  const { token } = tenant.organizationOwner;
  const [own, elsewhere, whole] = [
    await invite(token, { workspace_id: tenant.workspaceId }),
    await invite(token, { workspace_id: other }),
    await invite(token),
  ].map(({ body }) => body.id);
  const read = async (who: string, id: string) => (await people.call(who, 'GET', `/invitations/${id}`)).status;
  const listOf = async (who: string, query = '') =>
    (await people.call(who, 'GET', `/invitations?${query}`)).body.items.map((item: { id: string }) => item.id).toSorted();

  expect(await Promise.all([own, elsewhere, whole].map((id) => read(tenant.tokens.owner, id)))).toEqual([200, 404, 404]);
  expect(await Promise.all([own, elsewhere, whole].map((id) => read(token, id)))).toEqual([200, 200, 200]);
  expect(await Promise.all([own, nobody].map((id) => read(foreign.organizationOwner.token, id)))).toEqual([404, 404]);
  expect(await listOf(tenant.tokens.owner)).toEqual([own]);
  expect(await listOf(token)).toEqual([own, elsewhere, whole].toSorted());
  expect(await listOf(token, `workspace_id=${other}`)).toEqual([elsewhere]);
  expect(await listOf(token, `workspace_id=${foreign.workspaceId}`)).toEqual([]);
  expect(await listOf(foreign.organizationOwner.token)).toEqual([]);

  await people.rows(`insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, 'viewer') returning 1`, [
    other,
    tenant.users.admin.id,
    tenant.organizationId,
  ]);
  expect(await read(tenant.tokens.admin, elsewhere)).toBe(403);
  expect(await listOf(tenant.tokens.admin)).toEqual([own]);
});

test('the status expired is computed, and filters like the others', async () => {
  const { tokens } = await people.tenant();
  const [over, open, revoked] = [await invite(tokens.admin), await invite(tokens.admin), await invite(tokens.admin)].map(
    ({ body }) => body.id,
  );
  await people.rows(`update invitations set expires_at = now() - interval '1 second' where id = ? returning 1`, [over]);
  await people.call(tokens.admin, 'DELETE', `/invitations/${revoked}`);
  const idsOf = async (status: string) =>
    (await people.call(tokens.admin, 'GET', `/invitations?status=${status}`)).body.items.map((item: { id: string }) => item.id);

  expect(await idsOf('expired')).toEqual([over]);
  expect(await idsOf('pending')).toEqual([open]);
  expect(await idsOf('revoked')).toEqual([revoked]);
  expect(await idsOf('accepted')).toEqual([]);
  expect((await people.call(tokens.admin, 'GET', `/invitations/${over}`)).body.status).toBe('expired');
  expect((await people.call(tokens.admin, 'GET', '/invitations?status=none')).status).toBe(422);
});

test('revoking is for pending and expired ones, and the same again', async () => {
  const { tokens, organizationOwner, workspaceId } = await people.tenant();
  const { id } = (await invite(tokens.admin)).body;
  const above = (await invite(organizationOwner.token, { workspace_id: workspaceId, role: 'owner' })).body.id;
  const revoke = (token: string, of: string) => people.call(token, 'DELETE', `/invitations/${of}`);

  const statuses = [await revoke(tokens.admin, id), await revoke(tokens.admin, id)].map(({ status }) => status);
  const outranked = await revoke(tokens.admin, above);
  await people.rows(`update invitations set status = 'accepted', accepted_at = now() where id = ? returning 1`, [above]);
  const accepted = await revoke(tokens.owner, above);
  const unknown = await revoke(tokens.owner, nobody);

  expect(statuses).toEqual([204, 204]);
  expect((await people.entriesOf(id)).map(({ action, changes }) => [action, changes])).toEqual([
    ['create', expect.anything()],
    ['delete', { status: { from: 'pending', to: 'revoked' } }],
    ['delete', {}],
  ]);
  expect(outranked).toMatchObject({ status: 403, body: { context: { reason: 'rank' } } });
  expect(accepted).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'not_pending' } } });
  expect(unknown.status).toBe(404);
});

test('a frozen place invites nobody and resends nothing; revoking stays open', async () => {
  const { organizationOwner, organizationId, workspaceId } = await people.tenant();
  const { token } = organizationOwner;
  const { id } = (await invite(token, { workspace_id: workspaceId })).body;
  const tries = async () => [
    await invite(token, { workspace_id: workspaceId }),
    await people.call(token, 'POST', `/invitations/${id}/resend`),
  ];

  await people.rows('update workspaces set is_active = false, archived_at = now() where id = ? returning 1', [workspaceId]);
  const archived = await tries();
  await people.rows('update workspaces set is_active = true, archived_at = null where id = ? returning 1', [workspaceId]);
  await people.rows(`update organizations set status = 'suspended', suspended_at = now() where id = ? returning 1`, [organizationId]);
  const suspended = await tries();
  const revoked = await people.call(token, 'DELETE', `/invitations/${id}`);

  expect(archived.map(({ status, body }) => [status, body.context.reason])).toEqual(archived.map(() => [423, 'workspace_archived']));
  expect(suspended.map(({ status, body }) => [status, body.context.reason])).toEqual(suspended.map(() => [423, 'organization_suspended']));
  expect(revoked.status).toBe(204);
});
