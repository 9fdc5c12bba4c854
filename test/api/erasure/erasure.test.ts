import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tablesOfPaths } from '../../../db/http/stored-replies.ts';
import { connectRedis } from '../../../db/streams/redis.ts';
import { liveOperations } from '../../../api/http/operation/registry.ts';
import { isRoleAccess } from '../../../api/http/credentials/scopes.ts';
import { areas } from '../../../api/operations.ts';
import { testServices } from '../../support/services.ts';
import { tablesHolding } from '../../support/canary.ts';
import { freeSlug, skillBody } from '../skills/skill-calls.ts';
import { goodPassword, openPeople, type People } from '../users/people.ts';
import { addConsent, storedReplyOf } from './person.ts';
import { claimedFates, columnsOf, erasureTable, mark } from './table.ts';

const file = join(import.meta.dirname, '../../../docs/security/erasure.md');
const fates = claimedFates(readFileSync(file, 'utf8'));
let people: People;

beforeAll(async () => {
  people = await openPeople();
});
afterAll(() => people.close());

const em = () => people.api.db.sweeper.em;

test('every table stands in the table of erasures, and docs/security/erasure.md shows it', () => {
  const [before = '', , after = ''] = readFileSync(file, 'utf8').split(mark);
  const text = [before, erasureTable(em(), fates), after].join(mark);
  if (process.env['ERASURE_TABLE'] === 'write') writeFileSync(file, text);

  expect([...fates.keys()].toSorted()).toEqual([...columnsOf(em()).keys()].toSorted());
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('a line is read while the columns that a command fills in are still empty', () => {
  const claims = { person: '-', run: 'at once', age: 'never' };

  for (const line of ['| `notes` | - | at once | | | never |', '| `notes` | - | at once |  |  | never |']) {
    expect(claimedFates(line).get('notes')).toEqual(claims);
  }
});

test('what names a person or a run says what becomes of it', () => {
  const naming = {
    person: /email|fullName|[uU]serId$|principalId|actorId|createdBy|subjectId|resolvedById/,
    run: /^(root)?[rR]unId$/,
  } as const;
  const silent = (['person', 'run'] as const).flatMap((erasure) =>
    [...columnsOf(em())].flatMap(([name, columns]) =>
      fates.get(name)?.[erasure] === '-'
        ? columns.filter((column) => naming[erasure].test(column)).map((column) => `${erasure}: ${name}.${column}`)
        : [],
    ),
  );

  expect(silent).toEqual([]);
});

test('a deleted person is in no store that says so, and repeats of what made them are 404', async () => {
  const tenant = await people.tenant();
  const owner = tenant.organizationOwner.token;
  const canary = `canary-${crypto.randomUUID()}`;
  const email = `${canary}@example.test`;
  const invitation = { email: `invited-${email}`, role: 'member', scope: 'workspace', workspace_id: tenant.workspaceId };
  const creation = {
    email,
    full_name: canary,
    role: 'admin',
    scope: 'workspace',
    workspace_id: tenant.workspaceId,
    password: goodPassword,
  };
  const key = { 'idempotency-key': crypto.randomUUID() };
  const create = () => people.call(owner, 'POST', '/users', { body: creation, headers: key });
  const invite = () => people.call(owner, 'POST', '/invitations', { body: invitation, headers: key });
  const user = await create();
  const invited = await invite();
  const accepted = await people.ask('POST', '/invitations/accept', {
    token: await people.tokenOf(invited.body.id),
    email: invitation.email,
    full_name: canary,
    password: goodPassword,
  });
  await people.ask('POST', '/auth/login', { email, password: 'wrong' });
  const login = await people.ask('POST', '/auth/login', { email, password: goodPassword });
  await people.call(login.body.access_token, 'PATCH', `/users/${user.body.id}`, { body: { full_name: `${canary} II` } });
  await addConsent(people, tenant, { userId: user.body.id, words: canary });
  const before = await tablesHolding(people.api.database.adminUrl, canary);
  const acceptedId = accepted.body.user.id;

  for (const id of [user.body.id, acceptedId]) expect((await people.call(owner, 'DELETE', `/users/${id}`)).status).toBe(204);

  expect(before).toEqual(expect.arrayContaining(['idempotency_keys', 'invitations', 'mcp_connections', 'users']));
  expect((await tablesHolding(people.api.database.adminUrl, canary)).filter((name) => fates.get(name)?.person === 'at once')).toEqual([]);
  expect(await redisKeys(canary)).toEqual([]);
  for (const repeated of [await create(), await invite()])
    expect([repeated.status, repeated.body.code, repeated.headers['idempotency-replayed']]).toEqual([404, 'not_found', 'true']);
  expect(await people.rows('select id from users where email in (?, ?)', [email, invitation.email])).toEqual([]);
  expect(await storedReplyOf(people, key['idempotency-key'])).toEqual([null, null]);
});

/** Keys in Redis of this deployment that hold some words. */
async function redisKeys(words: string): Promise<string[]> {
  const redis = connectRedis(testServices().redisUrl, 'commands');
  try {
    const names = await redis.keys(`${people.api.redisPrefix}*`);
    return names.filter((name) => name.includes(words));
  } finally {
    redis.disconnect();
  }
}

const making = [
  ['createSkill', '/skills', { slug: freeSlug(), ...skillBody }],
  ['createTool', '/tools', { slug: 'web', kind: 'web_fetch', description: 'Reads pages' }],
  ['createAgent', '/agents', { slug: 'helper', name: 'Helper' }],
] as const;

test.each(making)(
  'a repeat of %s after the deletion is 404, makes nothing, and nothing of the reply is left',
  async (_operation, path, body) => {
    const { tokens } = await people.tenant();
    const key = { 'idempotency-key': crypto.randomUUID() };
    const make = () => people.call(tokens.admin, 'POST', path, { body, headers: key });
    const made = await make();
    expect(made.status).toBe(201);

    expect((await people.call(tokens.admin, 'DELETE', `${path}/${made.body.id}`)).status).toBe(204);

    const repeated = await make();
    expect([repeated.status, repeated.body.code]).toEqual([404, 'not_found']);
    expect(await storedReplyOf(people, key['idempotency-key'])).toEqual([null]);
  },
);

/** Deletions after which the row is still read, or of which no stored reply tells. */
const forgetsNothing: Readonly<Record<string, string>> = {
  archiveWorkspace: 'it can be restored, and is read until its purge',
  deleteOrganization: 'it can be resumed, and is read until its purge',
  revokeInvitation: 'it is read as revoked',
  revokeServiceKey: 'it is read as revoked',
  endImpersonation: 'it is read as ended, and its making takes no key',
};

test('every deletion of something that was made under a key forgets the replies, or says why not', () => {
  const operations = liveOperations(areas);
  const makers = operations.filter(({ idempotent }) => idempotent === true);
  const deletions = operations.filter(
    ({ method, path }) =>
      method === 'DELETE' && path.endsWith('}') && makers.some((maker) => maker.path === path.slice(0, path.lastIndexOf('/'))),
  );
  const forgetting = [
    'deleteAgent',
    'deleteAlertRule',
    'deleteChannel',
    'deleteEventTrigger',
    'deleteKnowledgeBase',
    'deleteModelPrice',
    'deleteOauthClient',
    'deletePersona',
    'deleteRepoBinding',
    'deleteReviewPlaybook',
    'deleteSchedule',
    'deleteSkill',
    'deleteTool',
    'deleteToolkit',
    'deleteUser',
    'deleteWebhookEndpoint',
    'purgeRun',
  ];

  expect(
    deletions
      .map(({ operationId }) => operationId)
      .filter((id) => !(id in forgetsNothing))
      .toSorted(),
  ).toEqual(forgetting);
});

test('a repeat after the right to see the row is lost shows nothing of it', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [home = '', other = ''] = tenant.workspaceIds;
  const admin = await people.user(tenant, { role: 'admin', workspaceId: home });
  const setRole = (role: string | null) =>
    people.call(tenant.organizationOwner.token, role === null ? 'DELETE' : 'PUT', `/workspaces/${other}/members/${admin.id}`, {
      ...(role === null ? {} : { body: { role } }),
    });
  const key = { 'idempotency-key': crypto.randomUUID() };
  const make = () =>
    people.call(admin.token, 'POST', '/service-keys', { body: { name: 'k', role: 'viewer', workspace_id: other }, headers: key });
  expect((await setRole('admin')).status).toBeLessThan(300);
  const made = await make();
  const kept = await make();

  expect((await setRole('viewer')).status).toBeLessThan(300);
  const lowered = await make();
  expect((await setRole(null)).status).toBe(204);
  const lost = await make();
  await setRole('admin');
  const again = await make();

  expect([made.status, kept.body]).toEqual([201, made.body]);
  expect([lowered.status, lowered.body.code]).toEqual([403, 'role_insufficient']);
  expect([lost.status, lost.body.code]).toEqual([404, 'not_found']);
  for (const refused of [lowered, lost]) expect(JSON.stringify(refused.body)).not.toContain(made.body.id);
  expect(again.body).toEqual(made.body);
});

test('the same holds for a reply that names no workspace, by the row that its path names', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [home = '', other = ''] = tenant.workspaceIds;
  const admin = await people.user(tenant, { role: 'admin', workspaceId: home });
  const grant = (method: 'PUT' | 'DELETE', body?: object) =>
    people.call(tenant.organizationOwner.token, method, `/workspaces/${other}/members/${admin.id}`, body ? { body } : {});
  const make = (path: string, body: object, key: string) =>
    people.call(admin.token, 'POST', path, { body, headers: { 'idempotency-key': key } });
  await grant('PUT', { role: 'admin' });
  const revision = { model: 'builtin/extractive', instructions: 'Only for those who work here.' };
  const agent = await make('/agents', { slug: 'guide', name: 'Guide', workspace_id: other, revision }, crypto.randomUUID());
  const key = crypto.randomUUID();
  const repeats = () =>
    Promise.all([
      make(`/agents/${agent.body.id}/personas`, { slug: 'plain', name: 'Plain', instructions: 'Be plain.' }, key),
      make(`/agents/${agent.body.id}/revisions`, { document: revision }, key),
    ]);
  const first = await repeats();

  await grant('PUT', { role: 'viewer' });
  const lowered = await repeats();
  await grant('DELETE');
  const lost = await repeats();
  await grant('PUT', { role: 'admin' });
  const again = await repeats();

  expect(first.map(({ status }) => status)).toEqual([201, 201]);
  expect(lowered.map(({ status }) => status)).toEqual([403, 403]);
  expect(lost.map(({ status }) => status)).toEqual([404, 404]);
  expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
});

test('every path of an operation with a key names rows whose place is known', () => {
  const names = liveOperations(areas).flatMap((operation) =>
    // The endpoint itself is the principal of what comes to its address.
    operation.idempotent === true && isRoleAccess(operation) ? Object.keys(operation.params?.properties ?? {}) : [],
  );

  expect([...new Set(names)].toSorted()).toEqual([...Object.keys(tablesOfPaths), 'organization_id'].toSorted());
});
