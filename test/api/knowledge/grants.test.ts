import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { grant, makeBase } from './base-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

test.each<[string, Record<string, unknown>, string]>([
  ['no access', { principal_kind: 'role', role: 'member' }, '/access'],
  ['an access that is none', { principal_kind: 'role', role: 'member', access: 'own' }, '/access'],
  ['no principal', { principal_kind: 'user', access: 'read' }, '/principal_id'],
  ['a user who is none', { principal_kind: 'user', principal_id: newId(), access: 'read' }, '/principal_id'],
  ['an agent that is none', { principal_kind: 'agent', principal_id: newId(), access: 'read' }, '/principal_id'],
  ['a persona that is none', { principal_kind: 'persona', principal_id: newId(), access: 'read' }, '/principal_id'],
  ['a workspace that is none', { principal_kind: 'workspace', principal_id: newId(), access: 'read' }, '/principal_id'],
  ['a role without its name', { principal_kind: 'role', access: 'read' }, '/role'],
  ['a role with an id', { principal_kind: 'role', role: 'member', principal_id: newId(), access: 'read' }, '/principal_id'],
  ['a user with a role', { principal_kind: 'user', principal_id: newId(), role: 'member', access: 'read' }, '/role'],
  ['the role of operators', { principal_kind: 'role', role: 'operator', access: 'read' }, '/role'],
  [
    'an end that has passed',
    { principal_kind: 'role', role: 'member', access: 'read', expires_at: '2020-01-01T00:00:00.000Z' },
    '/expires_at',
  ],
])('a grant with %s is 422', async (_name, body, pointer) => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);

  const answer = await world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/grants`, { body });

  expect(answer.status).toBe(422);
  expect(answer.body.errors[0].pointer).toBe(pointer);
});

test('people and agents of another organization are granted nothing', async () => {
  const { tokens } = await world.tenant();
  const other = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const agent = await makeAgent(world, other.tokens.admin);
  const ask = (principal_kind: string, principal_id: string) =>
    world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/grants`, { body: { principal_kind, principal_id, access: 'read' } });

  const answers = await Promise.all([ask('user', other.users.member.id), ask('agent', agent.id), ask('workspace', other.workspaceId)]);

  expect(answers.map(({ body }) => body.errors[0].rule)).toEqual(['reference', 'reference', 'reference']);
});

test('a principal has one grant of a base, also of two requests at once, and changes it by its etag', async () => {
  const { tokens, users } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const body = { principal_kind: 'user', principal_id: users.member.id, access: 'read' };
  const ask = () => world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/grants`, { body });

  const both = await Promise.all([ask(), ask()]);
  const made = both.find(({ status }) => status === 201)?.body;
  const change = (access: string) =>
    world.call(tokens.admin, 'PATCH', `/knowledge-grants/${made.id}`, { body: { access }, headers: { 'if-match': made.etag } });
  const [changed, stale] = [await change('curate'), await change('manage')];
  const list = await world.call(tokens.admin, 'GET', `/knowledge-bases/${base.id}/grants`);

  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect([changed.status, changed.body.access, changed.body.etag, changed.headers['etag']]).toEqual([200, 'curate', '"2"', '"2"']);
  expect(stale.status).toBe(412);
  expect(list.body.items).toEqual([changed.body]);
});

test('agents and personas of the place are granted access', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const agent = await makeAgent(world, tokens.admin);
  const persona = await world.call(tokens.admin, 'POST', `/agents/${agent.id}/personas`, {
    body: { slug: 'host', name: 'Host', instructions: 'Be kind.' },
  });

  const ofAgent = await grant(world, tokens.admin, base.id, { principal_kind: 'agent', principal_id: agent.id, access: 'write' });
  const ofPersona = await grant(world, tokens.admin, base.id, { principal_kind: 'persona', principal_id: persona.body.id, access: 'read' });

  expect([ofAgent.principal_id, ofPersona.principal_id]).toEqual([agent.id, persona.body.id]);
});

test('grants of a base that the caller does not manage are 403 to read and to change', async () => {
  const tenant = await world.tenant();
  const base = await makeBase(world, tenant.organizationOwner.token, { scope: 'organization' });
  const made = await grant(world, tenant.organizationOwner.token, base.id, { principal_kind: 'role', role: 'member', access: 'read' });
  const { admin } = tenant.tokens;

  const answers = await Promise.all([
    world.call(admin, 'GET', `/knowledge-bases/${base.id}/grants`),
    world.call(admin, 'POST', `/knowledge-bases/${base.id}/grants`, { body: { principal_kind: 'role', role: 'viewer', access: 'read' } }),
    world.call(admin, 'PATCH', `/knowledge-grants/${made.id}`, { body: { access: 'manage' } }),
    world.call(admin, 'DELETE', `/knowledge-grants/${made.id}`),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

test('a base of the platform is granted for reading alone', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.operator, { scope: 'platform', is_private: true });
  const ask = (access: string) =>
    world.call(tokens.operator, 'POST', `/knowledge-bases/${base.id}/grants`, { body: { principal_kind: 'role', role: 'viewer', access } });

  expect((await ask('write')).body.errors[0].pointer).toBe('/access');
  expect((await ask('read')).status).toBe(201);
  expect((await world.call(tokens.viewer, 'GET', `/knowledge-bases/${base.id}`)).status).toBe(200);
});
