import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { lostAccess, type RightHolder } from '../../db/streams/access.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { openStreamWorld, type StreamWorld } from './stream-world.ts';

let world: StreamWorld;
let tenant: TestTenant;
let run: RunIdentity;
beforeAll(async () => {
  world = await openStreamWorld();
  tenant = await makeTenant(world.database.db, randomKeyRing(), { workspaces: 2 });
  run = await world.startRun(tenant);
});
afterAll(() => world.close());

test('whoever has a live credential and sees the run keeps the stream', async () => {
  const { users, organizationOwner, serviceKey } = tenant;

  expect(
    await lost([
      holder(users.viewer),
      holder(organizationOwner),
      holder(users.operator),
      keyHolder(serviceKey.id),
      { ...holder(users.admin), actingUserId: users.member.id },
    ]),
  ).toEqual([null, null, null, null, null]);
});

test.each<[string, string, (tenant: TestTenant) => RightHolder, string]>([
  ['revoked session', 'update sessions set revoked_at = now() where id = $1', ({ users }) => holder(users.viewer), 'session_revoked'],
  [
    'session over',
    `update sessions set idle_expires_at = now() - interval '1 second' where id = $1`,
    ({ users }) => holder(users.member),
    'token_expired',
  ],
  [
    'deactivated user',
    `update users set is_active = false where id = (select user_id from sessions where id = $1)`,
    ({ users }) => holder(users.admin),
    'session_revoked',
  ],
  [
    'moved user',
    `update users set workspace_id = (select w.id from workspaces w where w.organization_id = users.organization_id and w.id <> users.workspace_id limit 1) where id = (select user_id from sessions where id = $1)`,
    ({ users }) => holder(users.owner),
    'not_found',
  ],
])('%s: the stream is lost', async (_name, sql, toHolder, code) => {
  const held = toHolder(tenant);
  await world.admin(sql, [held.sessionId]);

  expect(await lost([held])).toEqual([code]);
});

test('a stream is lost while a factor is demanded that its session never showed; one that did keeps it, and so do keys', async () => {
  const own = await makeTenant(world.database.db, randomKeyRing());
  const { runId } = await world.startRun(own);
  const { member, admin } = own.users;
  const holders = [holder(member), holder(admin), keyHolder(own.serviceKey.id)].map((held) => ({ ...held, runId }));
  await world.admin(`update sessions set mfa_level = 'totp' where id = $1`, [admin.sessionId]);
  await world.admin(
    `insert into totp_factors (user_id, organization_id, secret_enc, created_at, confirmed_at) select id, organization_id, '', now(), now() from users where id = $1`,
    [admin.id],
  );

  expect(await lost(holders)).toEqual([null, null, null]);
  await world.admin('update organization_settings set require_mfa = true where organization_id = $1', [own.organizationId]);
  expect(await lost(holders)).toEqual(['mfa_required', null, null]);
  await world.admin(`update sessions set mfa_level = 'none' where id = $1`, [admin.sessionId]);
  expect(await lost(holders)).toEqual(['mfa_required', 'mfa_required', null]);
});

test('what lies nowhere is asked about the credential alone, what lies at a place about its sight', async () => {
  const own = await makeTenant(world.database.db, randomKeyRing(), { workspaces: 2 });
  const [home = '', other = ''] = own.workspaceIds;
  const at = (workspaceId: string) => ({ organizationId: own.organizationId, workspaceId });
  const nowhere = { ...holder(own.users.member), runId: null };

  expect(await lost([nowhere, { ...nowhere, place: at(home) }, { ...nowhere, place: at(other) }])).toEqual([null, null, 'not_found']);
  await world.admin('update sessions set revoked_at = now() where id = $1', [own.users.member.sessionId]);
  expect(await lost([nowhere, { ...nowhere, place: at(home) }])).toEqual(['session_revoked', 'session_revoked']);
});

test.each([
  ['revoked', `update service_keys set revoked_at = now() where id = $1`],
  ['expired', `update service_keys set revoked_at = null, expires_at = now() - interval '1 second' where id = $1`],
  ['rotated', `update service_keys set expires_at = null, rotated_at = now() + interval '1 minute' where id = $1`],
])('%s key: the stream is lost', async (_name, sql) => {
  await world.admin(sql, [tenant.serviceKey.id]);

  expect(await lost([keyHolder(tenant.serviceKey.id)])).toEqual(['credential_invalid']);
});

test.each<[string, string, (world: TestTenant) => unknown[]]>([
  ['its holder is no admin any more', `update users set role = 'member' where id = $1`, ({ users }) => [users.admin.id]],
  ['its holder is outranked', `update users set role = 'owner' where id = $1`, ({ users }) => [users.member.id]],
])('a stream in another user’s name is lost when %s', async (_name, sql, params) => {
  const own = await makeTenant(world.database.db, randomKeyRing());
  const { runId } = await world.startRun(own);
  const acting = { actingUserId: own.users.member.id, runId };
  const holders = [
    { ...holder(own.users.admin), ...acting },
    { ...holder(own.users.admin), runId },
  ];

  expect(await lost(holders)).toEqual([null, null]);
  await world.admin(sql, params(own));
  expect(await lost(holders)).toEqual(['role_insufficient', null]);
});

test.each([
  ['the key is no admin’s any more', `update service_keys set role = 'member' where id = $1`],
  ['its maker is none', `update users set role = 'member' where id = (select created_by_user_id from service_keys where id = $1)`],
])('a key’s stream in another user’s name is lost when %s', async (_name, sql) => {
  const own = await makeTenant(world.database.db, randomKeyRing());
  const { runId } = await world.startRun(own);
  const holders = [{ ...keyHolder(own.serviceKey.id), actingUserId: own.users.member.id, runId }];

  expect(await lost(holders)).toEqual([null]);
  await world.admin(sql, [own.serviceKey.id]);
  expect(await lost(holders)).toEqual(['role_insufficient']);
});

test('the stream of an organization’s key is lost when its maker sees one workspace only', async () => {
  const own = await makeTenant(world.database.db, randomKeyRing());
  const { runId } = await world.startRun(own);
  await world.admin(`update service_keys set scope = 'organization', workspace_id = null where id = $1`, [own.serviceKey.id]);
  const holders = [{ ...keyHolder(own.serviceKey.id), runId }];

  expect(await lost(holders)).toEqual([null]);
  await world.admin(`update users set scope = 'workspace', workspace_id = $2 where id = $1`, [own.organizationOwner.id, own.workspaceId]);
  expect(await lost(holders)).toEqual(['credential_invalid']);
});

test('an unknown run, a foreign one and an unknown user are lost', async () => {
  const foreign = await world.startRun();

  expect(
    await lost([
      { ...holder(tenant.organizationOwner), runId: newId() },
      { ...holder(tenant.organizationOwner), runId: foreign.runId },
      { ...holder(tenant.organizationOwner), sessionId: null, principalId: newId() },
    ]),
  ).toEqual(['not_found', 'not_found', 'credential_invalid']);
});

function holder(user: { readonly id: string; readonly sessionId: string }): RightHolder {
  return {
    runId: run.runId,
    place: null,
    kind: 'user',
    principalId: user.id,
    sessionId: user.sessionId,
    actingUserId: null,
    openedAt: new Date(),
  };
}

function keyHolder(keyId: string): RightHolder {
  return {
    runId: run.runId,
    place: null,
    kind: 'service_key',
    principalId: keyId,
    sessionId: null,
    actingUserId: null,
    openedAt: new Date(),
  };
}

async function lost(holders: readonly RightHolder[]): Promise<(string | null)[]> {
  const codes = await lostAccess(world.database.db, holders);
  return holders.map((_, index) => codes.get(index) ?? null);
}
