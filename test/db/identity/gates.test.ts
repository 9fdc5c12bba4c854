import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findLogin, findRefresh, findServiceKey, findSession } from '../../../db/identity/lookup/credential-lookup.ts';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { serviceKeyHashes } from '../../../db/identity/keys/service-key-format.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { makeTenant, type TestTenant } from '../../support/tenant.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  tenant = await makeTenant(database.db, keys, { workspaces: 2 });
});
afterAll(() => database.drop());

test('a session is found with its user, the acting user and the view, in one statement', async () => {
  const { users, organizationId, workspaceIds } = tenant;
  const [, second = ''] = workspaceIds;

  const found = await findSession(database.db, {
    sessionId: users.admin.sessionId,
    userId: users.admin.id,
    actingUserId: users.viewer.id,
    viewOrganizationId: organizationId,
    viewWorkspaceId: second,
  });

  expect(found).toMatchObject({
    session: { id: users.admin.sessionId, kind: 'login', isRevoked: false, isOver: false },
    person: { id: users.admin.id, role: 'admin', organizationId, isActive: true, hasFactor: false, isFactorRequired: false, grants: {} },
    acting: { id: users.viewer.id, role: 'viewer' },
    viewOrganization: organizationId,
    viewWorkspace: { id: second, organizationId },
  });
});

test('a session of another user, an unknown address, key or refresh token is nothing', async () => {
  const { users } = tenant;
  const ask = {
    sessionId: users.admin.sessionId,
    userId: users.viewer.id,
    actingUserId: null,
    viewOrganizationId: null,
    viewWorkspaceId: null,
  };

  expect(await findSession(database.db, ask)).toBeNull();
  expect(await findLogin(database.db, 'nobody@example.test')).toBeNull();
  expect(await findServiceKey(database.db, [Buffer.alloc(32)], null)).toBeNull();
  expect(await findRefresh(database.db, Buffer.alloc(32))).toBeNull();
});

test('a key is found under any pepper, with its creator', async () => {
  const hashes = [Buffer.from('older'), ...serviceKeyHashes(tenant.serviceKey.plaintext, keys.peppers)];

  const found = await findServiceKey(database.db, hashes, null);

  expect(found).toMatchObject({
    key: { id: tenant.serviceKey.id, scope: 'workspace', role: 'admin', scopes: ['*'], isDead: false, lastUsedAt: null },
    creator: { id: tenant.organizationOwner.id, scope: 'organization' },
    acting: null,
  });
});
