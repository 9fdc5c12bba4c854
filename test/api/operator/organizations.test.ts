import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from '../world.ts';
import { admin, request } from './client.ts';

const password = 'a long enough phrase for Ada 7!';

let world: World;
let operator: string;

beforeAll(async () => {
  world = await openWorld();
  operator = (await world.tenant()).tokens.operator;
});

afterAll(() => world.close());

test('createOrganization makes organization, settings, workspace and an owner who can sign in', async () => {
  const slug = unique('acme');
  const email = `Owner-${slug}@Example.Test`;
  const made = await request(world, operator, 'POST', '/organizations', {
    body: { name: 'Acme', slug, timezone: 'Europe/Berlin', owner: { email, full_name: 'Ada', password } },
  });

  expect(made).toMatchObject({
    status: 201,
    headers: { location: `/organizations/${made.body.id}` },
    body: { name: 'Acme', slug, timezone: 'Europe/Berlin', status: 'active', suspended_at: null, delete_after: null },
  });
  const login = await world.api.app.inject({ method: 'POST', url: '/auth/login', payload: { email, password } });
  expect(login.json()).toMatchObject({
    user: { email: email.toLowerCase(), full_name: 'Ada', role: 'owner', scope: 'organization', organization_id: made.body.id },
  });
  const [row] = await admin(
    world,
    `select (select count(*)::int from organization_settings where organization_id = $1) as settings,
       (select json_agg(json_build_object('name', name, 'slug', slug, 'timezone', timezone)) from workspaces where organization_id = $1) as workspaces,
       (select email_verified_at from user_credentials where organization_id = $1) as verified,
       (select count(*)::int from audit_entries where organization_id = $1 and operation_id = 'createOrganization' and action = 'create') as entries`,
    [made.body.id],
  );
  expect(row).toEqual({
    settings: 1,
    workspaces: [{ name: 'Main', slug: 'main', timezone: 'Europe/Berlin' }],
    verified: null,
    entries: 1,
  });
});

test('a taken slug or address is 409 and leaves nothing; without a mailer a password is demanded', async () => {
  const [first, second] = [unique('one'), unique('two')];
  const create = (slug: string, owner: object) => request(world, operator, 'POST', '/organizations', { body: { name: 'N', slug, owner } });
  await create(first, { email: `${first}@example.test`, password });

  const slugTaken = await create(first, { email: `${second}@example.test`, password });
  const addressTaken = await create(second, { email: `${first}@example.test`, password });
  const without = await create(second, { email: `${second}@example.test` });
  const zone = await request(world, operator, 'POST', '/organizations', {
    body: { name: 'N', slug: second, timezone: 'Mars/Base', owner: { email: `${second}@example.test`, password } },
  });

  expect(slugTaken).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'slug' } } });
  expect(addressTaken).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'email' } } });
  expect(without).toMatchObject({ status: 422, body: { errors: [{ pointer: '/owner/password', rule: 'required' }] } });
  expect(zone.status).toBe(422);
  expect(await admin(world, 'select id from organizations where slug = $1', [second])).toEqual([]);
});

test('with a mailer an owner without password is invited', async () => {
  const mailing = await openWorld({ env: { MAIL_DIR: '/tmp/longhaul-test-mails' } });
  const token = (await mailing.tenant()).tokens.operator;
  const slug = unique('invited');

  const made = await request(mailing, token, 'POST', '/organizations', {
    body: { name: 'N', slug, owner: { email: `${slug}@example.test` }, workspace: { name: 'First Room' } },
  });

  const invited = await admin(mailing, 'select email, role, scope, status, workspace_id from invitations where organization_id = $1', [
    made.body.id,
  ]);
  const mails = await admin(
    mailing,
    "select payload -> 'mail' ->> 'template' as template from outbox where organization_id = $1 and kind = 'mail'",
    [made.body.id],
  );
  const rooms = await admin(mailing, 'select name, slug from workspaces where organization_id = $1', [made.body.id]);
  await mailing.close();
  expect(made.status).toBe(201);
  expect(invited).toEqual([{ email: `${slug}@example.test`, role: 'owner', scope: 'organization', status: 'pending', workspace_id: null }]);
  expect(mails).toEqual([{ template: 'invitation' }]);
  expect(rooms).toEqual([{ name: 'First Room', slug: 'first-room' }]);
});

test('suspend and resume: reading and signing in go on, writing is 423, and repeats change nothing', async () => {
  const { organizationId, tokens, users } = await world.tenant();
  const confirm = await slugOf(organizationId);
  const suspend = (body: object) => request(world, operator, 'POST', `/organizations/${organizationId}/suspend`, { body });

  const wrong = await suspend({ reason: 'unpaid', confirm: 'other' });
  const suspended = await suspend({ reason: 'unpaid', confirm });
  const again = await suspend({ reason: 'still', confirm });
  const read = await request(world, tokens.viewer, 'GET', '/agents');
  const login = await world.api.app.inject({
    method: 'POST',
    url: '/auth/login',
    payload: { email: users.member.email, password: 'correct horse battery staple' },
  });
  const write = await request(world, tokens.member, 'POST', '/agents', { body: { slug: 'frozen', name: 'A' } });
  const resumed = await request(world, operator, 'POST', `/organizations/${organizationId}/resume`);
  const after = await request(world, tokens.member, 'POST', '/agents', { body: { slug: 'thawed', name: 'A' } });

  expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/confirm' }] } });
  expect(suspended).toMatchObject({ status: 200, body: { status: 'suspended', suspended_at: expect.any(String), delete_after: null } });
  expect(again).toMatchObject({ status: 200, body: suspended.body });
  expect(read.status).toBe(200);
  expect(login.statusCode).toBe(200);
  expect(write).toMatchObject({ status: 423, body: { code: 'resource_frozen', context: { reason: 'organization_suspended' } } });
  expect(resumed).toMatchObject({ status: 200, body: { status: 'active', suspended_at: null } });
  expect(after.status).toBe(201);
});

test('each change of state writes one entry in the organization’s chain and one message to its stop', async () => {
  const { organizationId } = await world.tenant();
  const confirm = await slugOf(organizationId);
  await request(world, operator, 'POST', `/organizations/${organizationId}/suspend`, { body: { reason: 'unpaid', confirm } });
  await request(world, operator, 'POST', `/organizations/${organizationId}/resume`);
  await request(world, operator, 'POST', `/organizations/${organizationId}/resume`);

  const entries = await admin(world, 'select operation_id, changes from audit_entries where organization_id = $1 order by id', [
    organizationId,
  ]);
  const told = await admin(
    world,
    "select payload ->> 'workflowId' as id, payload ->> 'signal' as signal from outbox where organization_id = $1",
    [organizationId],
  );

  expect(entries).toEqual([
    { operation_id: 'suspendOrganization', changes: { status: { from: 'active', to: 'suspended' }, reason: { from: null, to: 'unpaid' } } },
    { operation_id: 'resumeOrganization', changes: { status: { from: 'suspended', to: 'active' } } },
    { operation_id: 'resumeOrganization', changes: {} },
  ]);
  const message = { id: `maint:org-stop:${organizationId}`, signal: 'stateChanged' };
  expect(told).toEqual([message, message]);
});

test('delete begins a grace of 30 days that resume ends; purge wants a deleted organization and its slug', async () => {
  const { organizationId } = await world.tenant();
  const confirm = await slugOf(organizationId);
  const purge = (slug: string) =>
    request(world, operator, 'POST', `/organizations/${organizationId}/purge`, { body: { reason: 'contract over', confirm: slug } });

  const early = await purge(confirm);
  const deleted = await request(world, operator, 'DELETE', `/organizations/${organizationId}`);
  const again = await request(world, operator, 'DELETE', `/organizations/${organizationId}`);
  const [row] = await admin(
    world,
    "select status, delete_after between now() + interval '29 days' and now() + interval '30 days' as is_month from organizations where id = $1",
    [organizationId],
  );
  const suspended = await request(world, operator, 'POST', `/organizations/${organizationId}/suspend`, { body: { reason: 'x', confirm } });
  const resumed = await request(world, operator, 'POST', `/organizations/${organizationId}/resume`);
  await request(world, operator, 'DELETE', `/organizations/${organizationId}`);
  const wrong = await purge('other');

  expect(early).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'not_deleted' } } });
  expect(deleted.status).toBe(204);
  expect(again.status).toBe(204);
  expect(row).toEqual({ status: 'deleting', is_month: true });
  expect(suspended).toMatchObject({ status: 409, body: { context: { reason: 'deleting' } } });
  expect(resumed).toMatchObject({ status: 200, body: { status: 'active', delete_after: null } });
  expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/confirm' }] } });
});

test('asking again gives the same purge, a failed one is queued again, and there is no way back', async () => {
  const { organizationId } = await world.tenant();
  const confirm = await slugOf(organizationId);
  await request(world, operator, 'DELETE', `/organizations/${organizationId}`);
  const purge = () =>
    request(world, operator, 'POST', `/organizations/${organizationId}/purge`, { body: { reason: 'contract over', confirm } });

  const [first, second] = await Promise.all([purge(), purge()]);
  await admin(world, "update purges set status = 'failed', step = 'runs', finished_at = now() where organization_id = $1", [
    organizationId,
  ]);
  const third = await purge();
  const resumed = await request(world, operator, 'POST', `/organizations/${organizationId}/resume`);

  expect(first).toMatchObject({
    status: 202,
    body: { organization_id: organizationId, status: 'queued', step: null, counts: {}, started_at: null, finished_at: null },
  });
  expect(second.body.id).toBe(first.body.id);
  expect(third).toMatchObject({ status: 202, body: { id: first.body.id, status: 'queued', finished_at: null } });
  expect(resumed).toMatchObject({ status: 409, body: { context: { reason: 'purging' } } });
});

test('all of it is for operators; an unknown or purged organization is 404', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const confirm = await slugOf(organizationId);
  const calls = (id: string): ['POST' | 'DELETE', string, object | undefined][] => [
    ['POST', `/organizations/${id}/suspend`, { reason: 'x', confirm }],
    ['POST', `/organizations/${id}/resume`, undefined],
    ['DELETE', `/organizations/${id}`, undefined],
    ['POST', `/organizations/${id}/purge`, { reason: 'x', confirm }],
  ];
  const statuses = (token: string, id: string) =>
    Promise.all(calls(id).map(async ([method, path, body]) => (await request(world, token, method, path, { body })).status));

  expect(await statuses(organizationOwner.token, organizationId)).toEqual([403, 403, 403, 403]);
  expect(await statuses(operator, crypto.randomUUID())).toEqual([404, 404, 404, 404]);
  await admin(world, "update organizations set status = 'deleting', delete_after = now(), purged_at = now() where id = $1", [
    organizationId,
  ]);
  expect(await statuses(operator, organizationId)).toEqual([404, 404, 404, 404]);
});

async function slugOf(organizationId: string): Promise<string> {
  const [row] = await admin(world, 'select slug from organizations where id = $1', [organizationId]);
  return String(row?.['slug']);
}

function unique(name: string): string {
  return `${name}-${Math.random().toString(36).slice(2, 10)}`;
}
