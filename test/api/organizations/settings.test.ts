import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const defaults = {
  require_mfa: false,
  allowed_email_domains: [],
  session_idle_days: 14,
  session_absolute_days: 90,
  invitation_days: 7,
  audit_retention_days: 400,
  failed_login_retention_days: 90,
  delivery_retention_days: 30,
  workspace_retention_days: 90,
  run_retention_days: null,
  trace_content: false,
  egress_allowlist: [],
  git_installations: [],
};

const patch = (token: string, organizationId: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'PATCH', `/organizations/${organizationId}/settings`, { body, headers });

test('settings begin with their defaults and are read from admin up', async () => {
  const { organizationId, tokens } = await world.tenant();

  const byAdmin = await world.call(tokens.admin, 'GET', `/organizations/${organizationId}/settings`);
  const byMember = await world.call(tokens.member, 'GET', `/organizations/${organizationId}/settings`);

  expect(byAdmin).toMatchObject({ status: 200, body: { organization_id: organizationId, ...defaults } });
  expect(byAdmin.headers['etag']).toBeDefined();
  expect(byMember).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
});

test('an owner changes some, the rest stays, and the log says what has changed', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const before = await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}/settings`);

  const changed = await patch(
    organizationOwner.token,
    organizationId,
    { allowed_email_domains: ['Example.COM', 'example.com', ' bücher.example '], run_retention_days: 30, invitation_days: 7 },
    { 'if-match': before.headers['etag'] ?? '' },
  );
  const empty = await patch(organizationOwner.token, organizationId, {});
  const stale = await patch(organizationOwner.token, organizationId, { invitation_days: 3 }, { 'if-match': before.headers['etag'] ?? '' });

  expect(changed).toMatchObject({
    status: 200,
    body: { ...defaults, allowed_email_domains: ['example.com', 'bücher.example'], run_retention_days: 30 },
  });
  expect(empty.body).toEqual(changed.body);
  expect(empty.headers['etag']).toBe(changed.headers['etag']);
  expect(stale).toMatchObject({ status: 412, body: { context: { etag: changed.headers['etag'] } } });
  const entries = await sweep(world.api.db, (em) =>
    rows<object>(
      em,
      `select action, resource_type, resource_id, changes from audit_entries
        where organization_id = ? and operation_id = 'updateOrganizationSettings' order by id`,
      [organizationId],
    ),
  );
  const common = { action: 'update', resource_type: 'organization_settings', resource_id: organizationId };
  expect(entries).toEqual([
    {
      ...common,
      changes: {
        allowed_email_domains: { from: [], to: ['example.com', 'bücher.example'] },
        run_retention_days: { from: null, to: 30 },
      },
    },
    { ...common, changes: {} },
  ]);
});

test.each([
  ['session_idle_days', [0, 91]],
  ['session_absolute_days', [0, 366]],
  ['invitation_days', [0, 31]],
  ['audit_retention_days', [29, 3_651]],
  ['failed_login_retention_days', [6, 366]],
  ['delivery_retention_days', [6, 366]],
  ['workspace_retention_days', [6, 366]],
  ['run_retention_days', [0, 3_651]],
])('%s has its bounds', async (field, outside) => {
  const { organizationId, organizationOwner } = await world.tenant();

  for (const value of outside) {
    const refused = await patch(organizationOwner.token, organizationId, { [field]: value });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: `/${field}` }] } });
  }
  const read = await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}/settings`);
  expect(read.body).toMatchObject(defaults);
});

test('a session is never idle for longer than it lasts', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const ask = (body: object) => patch(organizationOwner.token, organizationId, body);

  expect(await ask({ session_absolute_days: 13 })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/session_absolute_days', rule: 'range' }] },
  });
  expect(await ask({ session_idle_days: 31, session_absolute_days: 30 })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/session_idle_days' }] },
  });
  expect((await ask({ session_idle_days: 13, session_absolute_days: 13 })).status).toBe(200);
});

test('what is no domain, too many or unknown is 422', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  const ask = (body: object) => patch(organizationOwner.token, organizationId, body);

  for (const domain of ['a@b.example', '.example', 'a..b', '*', '*.example', 'x'.repeat(254), '']) {
    expect(await ask({ allowed_email_domains: ['fine.example', domain] })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/allowed_email_domains/1' }] },
    });
  }
  expect((await ask({ allowed_email_domains: Array.from({ length: 51 }, (_, n) => `d${n}.example`) })).status).toBe(422);
  expect((await ask({ require_mfa: null })).status).toBe(422);
  expect((await ask({ organization_id: organizationId })).status).toBe(422);
});

test('the settings of operators are 403 to others, whatever they send', async () => {
  const { organizationId, organizationOwner, tokens, workspaceId } = await world.tenant();
  const foreign = await world.tenant();
  const byOwner = (body: object) => patch(organizationOwner.token, organizationId, body);
  const byOperator = (body: object) => patch(tokens.operator, organizationId, body);

  for (const field of ['egress_allowlist', 'git_installations']) {
    expect(await byOwner({ [field]: [] })).toMatchObject({
      status: 403,
      body: { code: 'resource_forbidden', context: { reason: 'operator_only', field } },
    });
  }
  const written = await byOperator({
    egress_allowlist: [
      { host: 'Intern.Example', allow_http: true },
      { host: '[::1]', port: 8080, allow_http: false },
    ],
    git_installations: [{ installation_id: 7, workspace_id: workspaceId }],
  });
  const unknown = await byOperator({
    git_installations: [
      { installation_id: 7, workspace_id: workspaceId },
      { installation_id: 8, workspace_id: foreign.workspaceId },
    ],
  });
  const noHost = await byOperator({ egress_allowlist: [{ host: 'https://x.example' }] });

  expect(written).toMatchObject({
    status: 200,
    body: {
      egress_allowlist: [
        { host: 'intern.example', port: null, allow_http: true },
        { host: '[::1]', port: 8080, allow_http: false },
      ],
      git_installations: [{ installation_id: 7, workspace_id: workspaceId }],
    },
  });
  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: '/git_installations/1/workspace_id', rule: 'reference' }] } });
  expect(noHost.status).toBe(422);
});

test('settings need a fresh verification, a session and the whole organization', async () => {
  const { organizationId, organizationOwner, organizationAdmin, tokens, serviceKey } = await world.tenant();
  await sweep(world.api.db, (em) =>
    change(em, "update sessions set verified_at = now() - interval '11 minutes' where id = ?", [organizationOwner.sessionId]),
  );
  const body = { require_mfa: true };

  expect(await patch(organizationOwner.token, organizationId, body)).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'step_up_required' } },
  });
  expect(await patch(tokens.owner, organizationId, body)).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(await patch(organizationAdmin.token, organizationId, body)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await patch(serviceKey.plaintext, organizationId, body)).status).toBe(403);
  expect(
    await patch(tokens.operator, organizationId, body, {
      'x-view-organization': organizationId,
      'x-acting-user': organizationOwner.id,
    }),
  ).toMatchObject({ status: 403 });
  expect(await patch(tokens.operator, organizationId, body, { 'x-view-workspace': (await world.tenant()).workspaceId })).toMatchObject({
    status: 404,
  });
});

test('require_mfa acts at the next request of every session', async () => {
  const { organizationId, organizationOwner, tokens } = await world.tenant();
  const before = await world.call(tokens.viewer, 'GET', '/workspaces');

  await patch(organizationOwner.token, organizationId, { require_mfa: true });
  const after = await world.call(tokens.viewer, 'GET', '/workspaces');

  expect(before.status).toBe(200);
  expect(after).toMatchObject({ status: 401, body: { code: 'mfa_required', context: { reason: 'enrolment_required' } } });
});

test('settings of a frozen organization are read and not changed', async () => {
  const { organizationId, organizationOwner } = await world.tenant();
  await sweep(world.api.db, (em) => change(em, "update organizations set status = 'suspended' where id = ?", [organizationId]));

  expect((await world.call(organizationOwner.token, 'GET', `/organizations/${organizationId}/settings`)).status).toBe(200);
  expect(await patch(organizationOwner.token, organizationId, {})).toMatchObject({ status: 423, body: { code: 'resource_frozen' } });
});

test('the same again changes nothing, in whatever order its fields are sent', async () => {
  const { organizationId, tokens, workspaceId } = await world.tenant();
  const settings = {
    egress_allowlist: [{ host: 'intern.example', port: 8080, allow_http: true }],
    git_installations: [{ installation_id: 7, workspace_id: workspaceId }],
  };

  const first = await patch(tokens.operator, organizationId, settings);
  const again = await patch(tokens.operator, organizationId, settings);

  expect(first.status).toBe(200);
  expect(again.headers['etag']).toBe(first.headers['etag']);
  const changes = await sweep(world.api.db, (em) =>
    rows<{ changes: object }>(
      em,
      "select changes from audit_entries where organization_id = ? and operation_id = 'updateOrganizationSettings' order by id",
      [organizationId],
    ),
  );
  expect(changes.map((entry) => Object.keys(entry.changes).length)).toEqual([2, 0]);
});

test('an admin of one workspace reads no workspace of another in the settings', async () => {
  const { organizationId, organizationAdmin, tokens, workspaceIds } = await world.tenant({ workspaces: 2 });
  const installations = workspaceIds.map((id, at) => ({ installation_id: at + 1, workspace_id: id }));
  await patch(tokens.operator, organizationId, { git_installations: installations });
  const read = async (token: string) =>
    (await world.call(token, 'GET', `/organizations/${organizationId}/settings`)).body.git_installations;

  expect(await read(tokens.admin)).toEqual(installations.slice(0, 1));
  expect(await read(organizationAdmin.token)).toEqual(installations);
});
