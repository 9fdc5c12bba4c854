import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { newId } from '../../../db/ids.ts';
import { findConnection, readGrant, sharedPrincipal, type McpConnectionRow } from '../../../db/mcp/connection-queries.ts';
import { openConnection, storeGrant } from '../../../db/mcp/connections.ts';
import { deleteConnections } from '../../../db/toolkits/delete-toolkit.ts';
import { findReturned } from '../../../db/mcp/consent-queries.ts';
import { insertConsent } from '../../../db/mcp/consents.ts';
import type { McpConsent, McpGrant } from '../../../db/mcp/grant.ts';
import { holdThere } from '../../../db/toolkits/mcp-toolkits.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { takeCode } from '../../../domain/mcp/consents.ts';
import { refuseGrant, takeRefreshLease } from '../../../domain/mcp/refresh.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { makeWorld } from '../world.ts';

const keys = randomKeyRing();
const at = { issuer: 'https://as.example', metadata: {}, resource: null };
const grant: McpGrant = { at, client: { client_id: 'c' }, accessToken: 'access-1', refreshToken: 'refresh-1' };
const consent: McpConsent = { at, client: grant.client, verifier: 'v', redirectUri: 'https://app.example', scopes: [], code: null };
let database: TestDatabase;
let place: { organizationId: string; workspaceId: string };

beforeAll(async () => {
  database = await testDatabase();
  const { organizationId, workspaceIds } = await makeWorld(database.db);
  place = { organizationId, workspaceId: workspaceIds[0] ?? '' };
});
afterAll(() => database.drop());

async function inPlace<R>(work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const tenant = workspaceTenant(place.organizationId, place.workspaceId);
  return (await transact(database.db, { tenant, actor: systemActor, correlationId: newId() }, work)).value;
}

async function makeConnection(): Promise<McpConnectionRow> {
  const id = newId();
  await sweep(database.db, (em) =>
    change(em, "insert into toolkits (id, scope, organization_id, slug, name, kind) values (?, 'organization', ?, ?, 'Kit', 'mcp')", [
      id,
      place.organizationId,
      `kit-${id.slice(-8)}`,
    ]),
  );
  return inPlace((tx) => openConnection(tx, { id, organizationId: place.organizationId, workspaceId: null }, sharedPrincipal));
}

const reread = async (connection: McpConnectionRow): Promise<McpConnectionRow> => {
  const found = await inPlace((tx) => findConnection(tx, connection.toolkitId, sharedPrincipal));
  if (!found) throw new Error('gone');
  return found;
};

test('of many who want to refresh one may; after 15 s another may', async () => {
  const connection = await makeConnection();

  const taken = await Promise.all(Array.from({ length: 10 }, () => inPlace((tx) => takeRefreshLease(tx, connection))));
  expect(taken.filter(Boolean)).toHaveLength(1);
  await sweep(database.db, (em) =>
    change(em, "update mcp_connections set refresh_until = now() - interval '1 second' where id = ?", [connection.id]),
  );
  expect(await inPlace((tx) => takeRefreshLease(tx, connection))).toBe(true);
});

test('a grant opens as it was kept; a refusal of an older token leaves the newer one', async () => {
  const old = await makeConnection();
  expect(await inPlace((tx) => storeGrant(tx, keys, { ...old, grant, scopes: ['a'], lifeS: 60 }))).toBe(true);
  expect(await inPlace((tx) => storeGrant(tx, keys, { ...old, grant, scopes: ['b'], lifeS: 60 }))).toBe(false);

  await inPlace((tx) => refuseGrant(tx, old, 'revoked'));
  const now = await reread(old);
  expect(now).toMatchObject({ state: 'healthy', isFresh: true });
  expect(await inPlace((tx) => readGrant(tx, keys, now))).toEqual(grant);
  const stored = await sweep(database.db, (em) =>
    rows<{ text: string }>(em, 'select m::text as text from mcp_connections m where id = ?', [old.id]),
  );
  expect(stored[0]?.text).not.toContain('access-1');

  await inPlace((tx) => refuseGrant(tx, now, 'revoked'));
  expect(await reread(old)).toMatchObject({ state: 'needs_auth', grantEnc: null });
});

test('a state is good once, for ten minutes, for its own toolkit and principal', async () => {
  const connection = await makeConnection();
  const other = await makeConnection();
  const begin = (state: string) =>
    inPlace((tx) => insertConsent(tx, keys, connection, { state, consent, url: 'https://as.example/x', lifeS: 600 }));
  const back = (state: string, toolkitId = connection.toolkitId) =>
    inPlace((tx) => takeCode(tx, keys, { toolkitId, principal: sharedPrincipal, code: 'the-code', state }));

  await begin('first');
  await begin('second');
  await expect(back('first')).rejects.toMatchObject({ code: 'validation_failed' });
  await expect(back('second', other.toolkitId)).rejects.toMatchObject({ code: 'validation_failed' });
  const tries = await Promise.allSettled([back('second'), back('second')]);
  expect(tries.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await inPlace((tx) => findReturned(tx, keys, connection.id))).toMatchObject({ consent: { ...consent, code: 'the-code' } });

  await begin('late');
  await sweep(database.db, (em) => change(em, "update mcp_authorizations set expires_at = now() - interval '1 second'"));
  await expect(back('late')).rejects.toMatchObject({ code: 'validation_failed' });
  await inPlace((tx) => deleteConnections(tx, connection.toolkitId));
  expect(await inPlace((tx) => findConnection(tx, connection.toolkitId, sharedPrincipal))).toBeNull();
});

test('a toolkit that was changed, or deleted, after it was read is another one', async () => {
  const connection = await makeConnection();
  const id = connection.toolkitId;
  const set = (sql: string) => sweep(database.db, (em) => change(em, `update toolkits set ${sql} where id = ?`, [id]));
  const config = {
    url: 'https://mcp.example/',
    transport: 'auto',
    auth: { type: 'none' },
    on_change: 'block',
    sync_interval_s: null,
  } as const;
  const isThere = () => inPlace((tx) => holdThere(tx, { id, config }));

  await set(`config = '${JSON.stringify(config)}'`);
  const asRead = await isThere();
  await set(`config = jsonb_set(config, '{url}', '"https://other.example/"')`);
  const moved = await isThere();
  await set(`config = '${JSON.stringify(config)}', deleted_at = now()`);

  expect([asRead, moved, await isThere()]).toEqual([true, false, false]);
});
