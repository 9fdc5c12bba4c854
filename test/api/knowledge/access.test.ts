import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { makeUser, type TestTenant, type TestUser } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';
import { grant, listed, makeBase } from './base-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const rowsOf = <T>(sql: string, params: unknown[]) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const statusOf = async (token: string, kbId: string) => (await world.call(token, 'GET', `/knowledge-bases/${kbId}`)).status;
const rename = async (token: string, kbId: string) =>
  (await world.call(token, 'PATCH', `/knowledge-bases/${kbId}`, { body: { name: crypto.randomUUID() } })).status;
const memberOf = (tenant: TestTenant, workspaceId: string, role: 'viewer' | 'member' | 'admin' = 'member'): Promise<TestUser> =>
  makeUser(world.api.db, world.api.keys, { role, scope: 'workspace', organizationId: tenant.organizationId, workspaceId });

test('a private base is 404 to those without a right, in detail, statistics, grants, changes and lists', async () => {
  const tenant = await world.tenant();
  const base = await makeBase(world, tenant.tokens.member, { is_private: true });
  const other = await memberOf(tenant, tenant.workspaceId);
  const path = `/knowledge-bases/${base.id}`;

  const answers = await Promise.all([
    world.call(other.token, 'GET', path),
    world.call(other.token, 'GET', `${path}/stats`),
    world.call(other.token, 'GET', `${path}/grants`),
    world.call(other.token, 'PATCH', path, { body: { name: 'x' } }),
    world.call(other.token, 'PATCH', `/knowledge-bases/${newId()}`, { body: { name: 'x' } }),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  expect(await listed(world, other.token)).toEqual([]);
  expect(await listed(world, other.token, `&q=${base.slug}`)).toEqual([]);
});

test('whoever makes a private base manages it by a grant, which the log and the list of grants show', async () => {
  const tenant = await world.tenant();
  const base = await makeBase(world, tenant.tokens.member, { is_private: true });

  const grants = await world.call(tenant.tokens.member, 'GET', `/knowledge-bases/${base.id}/grants`);

  expect([await statusOf(tenant.tokens.member, base.id), await rename(tenant.tokens.member, base.id)]).toEqual([200, 200]);
  expect(grants.body.items).toMatchObject([
    { principal_kind: 'user', principal_id: tenant.users.member.id, access: 'manage', etag: '"1"' },
  ]);
});

test('an admin sees a private base and who may use it, and changes it only by a grant, which stands in the log', async () => {
  const tenant = await world.tenant();
  const { tokens, users, organizationId } = tenant;
  const base = await makeBase(world, tokens.member, { is_private: true });

  const before = [await statusOf(tokens.admin, base.id), await rename(tokens.admin, base.id)];
  const removed = await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${base.id}`);
  const made = await grant(world, tokens.admin, base.id, { principal_kind: 'user', principal_id: users.admin.id, access: 'manage' });

  expect(before).toEqual([200, 403]);
  expect(removed.status).toBe(403);
  expect(await rename(tokens.admin, base.id)).toBe(200);
  const [entry] = await rowsOf<{ changes: unknown; actor_id: string }>(
    "select changes, actor_id from audit_entries where organization_id = ? and action = 'create' and resource_id = ?",
    [organizationId, made.id],
  );
  expect(entry).toMatchObject({ actor_id: users.admin.id, changes: { kb_id: { to: base.id }, access: { to: 'manage' } } });
});

test('an admin of a workspace does not see private bases of the organization', async () => {
  const tenant = await world.tenant();
  const base = await makeBase(world, tenant.organizationOwner.token, { scope: 'organization', is_private: true });

  expect(await statusOf(tenant.organizationAdmin.token, base.id)).toBe(200);
  expect(await statusOf(tenant.tokens.admin, base.id)).toBe(404);
  expect(await listed(world, tenant.tokens.admin)).toEqual([]);
});

test('the subject of a base has it for its own, and a service key only as that user', async () => {
  const tenant = await world.tenant();
  const { tokens, users, serviceKey } = tenant;
  const base = await makeBase(world, tokens.admin, { subject_kind: 'user', subject_id: users.member.id });
  const own = await makeBase(world, tenant.organizationOwner.token, {
    workspace_id: tenant.workspaceId,
    scope: 'workspace',
    subject_kind: 'user',
    subject_id: tenant.organizationOwner.id,
  });
  const asMember = { headers: { 'x-acting-user': users.member.id } };

  expect([await statusOf(tokens.member, base.id), await rename(tokens.member, base.id)]).toEqual([200, 200]);
  expect(await listed(world, tokens.member)).toEqual([base.id]);
  expect(await statusOf(tokens.viewer, base.id)).toBe(404);
  // The key is an admin's: it sees that they are there, and has its creator's base no more than another.
  expect([await rename(serviceKey.plaintext, base.id), await rename(serviceKey.plaintext, own.id)]).toEqual([403, 403]);
  expect((await world.call(serviceKey.plaintext, 'GET', `/knowledge-bases/${base.id}`, asMember)).status).toBe(200);
  expect((await world.call(serviceKey.plaintext, 'GET', `/knowledge-bases/${own.id}`, asMember)).status).toBe(404);
});

test('a grant for a role means that role and those above it, where the base lies', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { tokens } = tenant;
  const base = await makeBase(world, tenant.organizationOwner.token, {
    workspace_id: tenant.workspaceId,
    scope: 'workspace',
    is_private: true,
  });
  await grant(world, tokens.admin, base.id, { principal_kind: 'role', role: 'member', access: 'write' });
  const there = await memberOf(tenant, tenant.workspaceIds[1] ?? '');
  await rowsOf('insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?)', [
    tenant.workspaceId,
    there.id,
    tenant.organizationId,
    'viewer',
  ]);

  expect(await statusOf(tokens.viewer, base.id)).toBe(404);
  expect([await statusOf(tokens.member, base.id), await rename(tokens.member, base.id)]).toEqual([200, 403]);
  expect(await statusOf(tokens.owner, base.id)).toBe(200);
  // A member at home, and a viewer here.
  expect(await statusOf(there.token, base.id)).toBe(404);
});

test('a grant for a workspace is for whoever works there, and a base of a workspace is granted to no other', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const [first = '', second = ''] = tenant.workspaceIds;
  const { token } = tenant.organizationOwner;
  const base = await makeBase(world, token, { scope: 'organization', is_private: true });
  const there = await memberOf(tenant, second);
  const local = await makeBase(world, token, { scope: 'workspace', workspace_id: first });
  const foreign = await world.tenant();
  const refused = (kbId: string, principal_id: string) =>
    world.call(token, 'POST', `/knowledge-bases/${kbId}/grants`, { body: { principal_kind: 'workspace', principal_id, access: 'read' } });

  await grant(world, token, base.id, { principal_kind: 'workspace', principal_id: second, access: 'read' });

  expect([await statusOf(there.token, base.id), await statusOf(tenant.tokens.member, base.id)]).toEqual([200, 404]);
  expect((await refused(base.id, foreign.workspaceId)).body.errors[0].rule).toBe('reference');
  expect((await refused(local.id, second)).body.errors[0].rule).toBe('reference');
});

test('writing in a place wider than one’s own takes a grant', async () => {
  const tenant = await world.tenant();
  const { tokens, users } = tenant;
  const base = await makeBase(world, tenant.organizationOwner.token, { scope: 'organization' });

  const without = [await statusOf(tokens.member, base.id), await rename(tokens.member, base.id)];
  await grant(world, tenant.organizationAdmin.token, base.id, { principal_kind: 'user', principal_id: users.member.id, access: 'manage' });

  expect(without).toEqual([200, 403]);
  expect(await rename(tokens.member, base.id)).toBe(200);
  expect(await rename(tenant.organizationAdmin.token, base.id)).toBe(200);
});

test('a base of the platform is everybody’s to read and the operators’ to change', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const base = await makeBase(world, tokens.operator, { scope: 'platform' });

  expect([await statusOf(tokens.viewer, base.id), await rename(tokens.admin, base.id)]).toEqual([200, 403]);
  expect(await rename(tokens.operator, base.id)).toBe(200);
  expect((await world.call(tokens.owner, 'DELETE', `/knowledge-bases/${base.id}`)).status).toBe(403);
  // It would stand in the lists of everybody.
  expect((await world.call(tokens.operator, 'DELETE', `/knowledge-bases/${base.id}`)).status).toBe(204);
});

test('a grant that has ended, or is taken back, counts as none at once', async () => {
  const tenant = await world.tenant();
  const { tokens, users } = tenant;
  const base = await makeBase(world, tokens.admin, { is_private: true });
  const of = (access: string) => ({ principal_kind: 'user', principal_id: users.member.id, access });
  const given = await grant(world, tokens.admin, base.id, { ...of('read'), expires_at: new Date(Date.now() + 3_600_000).toISOString() });

  const while_ = await statusOf(tokens.member, base.id);
  await rowsOf("update knowledge_grants set expires_at = now() - interval '1 second' where id = ?", [given.id]);
  const after = [await statusOf(tokens.member, base.id), (await listed(world, tokens.member)).length];
  await world.call(tokens.admin, 'PATCH', `/knowledge-grants/${given.id}`, { body: { expires_at: null } });
  const again = await statusOf(tokens.member, base.id);
  await world.call(tokens.admin, 'DELETE', `/knowledge-grants/${given.id}`);

  expect([while_, ...after, again, await statusOf(tokens.member, base.id)]).toEqual([200, 404, 0, 200, 404]);
});

test('rights on a superseded base are those on its successor, and on one that is being built those on the base it is built from', async () => {
  const tenant = await world.tenant();
  const { tokens, users } = tenant;
  const old = await makeBase(world, tokens.admin, { is_private: true });
  const next = await makeBase(world, tokens.admin, { is_private: true });
  await rowsOf('update knowledge_bases set predecessor_id = ?, activated_at = null, is_frozen = true where id = ?', [old.id, next.id]);
  await rowsOf('delete from knowledge_grants where kb_id = ?', [next.id]);
  const given = await grant(world, tokens.admin, old.id, { principal_kind: 'user', principal_id: users.member.id, access: 'read' });
  const both = async () => [await statusOf(tokens.member, old.id), await statusOf(tokens.member, next.id)];

  const building = { seen: await both(), listed: await listed(world, tokens.member) };
  const toBuilding = await world.call(tokens.admin, 'POST', `/knowledge-bases/${next.id}/grants`, {
    body: { principal_kind: 'role', role: 'viewer', access: 'read' },
  });
  await rowsOf('update knowledge_grants set kb_id = ? where id = ?', [next.id, given.id]);
  await rowsOf('update knowledge_bases set activated_at = now(), is_frozen = false where id = ?', [next.id]);
  await rowsOf('update knowledge_bases set successor_id = ?, is_frozen = true where id = ?', [next.id, old.id]);
  const superseded = { seen: await both(), listed: await listed(world, tokens.member) };
  const thawed = await world.call(tokens.operator, 'PATCH', `/knowledge-bases/${old.id}`, { body: { is_frozen: false } });
  const asAdmin = await world.call(tokens.admin, 'PATCH', `/knowledge-bases/${old.id}`, { body: { is_frozen: false } });
  await rowsOf('delete from knowledge_grants where id = ?', [given.id]);

  expect(building).toEqual({ seen: [200, 200], listed: [old.id] });
  expect([toBuilding.status, toBuilding.body.context.reason]).toEqual([409, 'reembed_in_progress']);
  expect(superseded).toEqual({ seen: [200, 200], listed: [next.id, old.id] });
  expect([thawed.status, asAdmin.status]).toEqual([403, 403]);
  expect(await both()).toEqual([404, 404]);
});

test('a superseded base can not be thawed or granted to, and only an operator deletes it', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const old = await makeBase(world, tokens.admin);
  const next = await makeBase(world, tokens.admin);
  await rowsOf('update knowledge_bases set successor_id = ?, is_frozen = true where id = ?', [next.id, old.id]);
  const path = `/knowledge-bases/${old.id}`;

  const thawed = await world.call(tokens.admin, 'PATCH', path, { body: { is_frozen: false } });
  const granted = await world.call(tokens.admin, 'POST', `${path}/grants`, {
    body: { principal_kind: 'role', role: 'member', access: 'read' },
  });
  const byOwner = await world.call(tokens.owner, 'DELETE', path);
  const byOperator = await world.call(tokens.operator, 'DELETE', path);

  expect([thawed.status, thawed.body.context]).toEqual([409, { reason: 'superseded', successor_id: next.id }]);
  expect([granted.status, granted.body.context.reason]).toEqual([409, 'superseded']);
  expect([byOwner.status, byOperator.status]).toEqual([403, 204]);
});
