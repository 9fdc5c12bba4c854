import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { storedReplyBinding } from '../../db/http/stored-replies.ts';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import { createSigningKeys } from '../../domain/identity/keys/signing-keys.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { authorizationBinding, connectionBinding } from '../../db/mcp/grant.ts';
import { secretBinding, encryptedColumns, channelBinding, channelMessageBinding, endpointBinding } from '../../db/encrypted-columns.ts';
import { change, row, rows } from '../../db/sql.ts';
import { keyIdOf, decrypt, encrypt, encryptedTables, type Binding } from '../../db/envelope.ts';
import { rotateKeys } from '../../domain/tenancy/rotate-keys.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

let database: TestDatabase;
let keys: KeyRing;
let world: World;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  keys = randomKeyRing();
  await inDatabase('delete from data_keys');
  for (const table of encryptedTables.toReversed()) await inDatabase(`delete from ${table}`);
  await inDatabase('delete from audit_entries');
  world = await makeWorld(database.db);
});

const inDatabase = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const ask = <T>(sql: string, params: unknown[] = []) => sweep(database.db, (em) => rows<T>(em, sql, params));
const newer = (ring: KeyRing): KeyRing => ({ ...ring, keks: [randomKeyRing().keks[0], ...ring.keks] });
const dataKeys = () =>
  ask<{ id: string; kek_id: string; is_retired: boolean }>(
    'select id, kek_id, retired_at is not null as is_retired from data_keys order by id',
  );

interface Sealed {
  readonly table: (typeof encryptedTables)[number];
  readonly key: string;
  readonly binding: Binding;
}

const sealIn = (binding: Binding, text: string) => sweep(database.db, (em) => encrypt(em, keys, binding, Buffer.from(text)));

/** One envelope in every column that holds some. */
async function sealEverywhere(): Promise<Sealed[]> {
  const { organizationId, workspaceIds } = world;
  const place = { organizationId, workspaceId: workspaceIds[0] ?? null, toolId: null, name: 'a', valueVersion: 1 };
  const [secret, user, reply, kid, toolkit, connection, state, agent, endpoint, channel, message] = Array.from({ length: 11 }, newId) as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const bindings = {
    secrets: secretBinding(place),
    totp_factors: { organizationId, aad: ['totp_factors', user] } as const,
    idempotency_keys: storedReplyBinding(organizationId, reply),
    signing_keys: { organizationId: null, aad: ['signing_keys', kid] } as const,
    mcp_connections: connectionBinding(organizationId, connection),
    mcp_authorizations: authorizationBinding(organizationId, state),
    webhook_endpoints: endpointBinding(organizationId, endpoint),
    channels: channelBinding(organizationId, channel),
    channel_messages: channelMessageBinding(organizationId, message),
  };

  await inDatabase(
    "insert into secrets (id, scope, organization_id, workspace_id, name, value_envelope) values (?, 'workspace', ?, ?, 'a', ?)",
    [secret, organizationId, place.workspaceId, await sealIn(bindings.secrets, 'value')],
  );
  await inDatabase("insert into users (id, email, role, scope, organization_id, workspace_id) values (?, ?, 'member', 'workspace', ?, ?)", [
    user,
    `${user}@example.test`,
    organizationId,
    place.workspaceId,
  ]);
  await inDatabase('insert into totp_factors (user_id, organization_id, secret_enc) values (?, ?, ?)', [
    user,
    organizationId,
    await sealIn(bindings.totp_factors, 'value'),
  ]);
  const body = await sealIn(bindings.idempotency_keys, 'value');
  await inDatabase(
    `insert into idempotency_keys (id, organization_id, principal_kind, principal_id, method, route, key, fingerprint, state, body, body_key_id, expires_at)
     values (?, ?, 'user', ?, 'POST', '/x', 'k', '', 'done', ?, ?, now() + interval '1 day')`,
    [reply, organizationId, user, body, keyIdOf(body)],
  );
  await inDatabase("insert into signing_keys (kid, public_jwk, private_enc, state) values (?, '{}', ?, 'next')", [
    kid,
    await sealIn(bindings.signing_keys, 'value'),
  ]);
  await inDatabase(
    "insert into toolkits (id, scope, organization_id, slug, name, kind) values (?, 'organization', ?, 'kit', 'Kit', 'mcp')",
    [toolkit, organizationId],
  );
  await inDatabase(
    "insert into mcp_connections (id, toolkit_id, organization_id, principal_kind, grant_enc, state) values (?, ?, ?, 'shared', ?, 'healthy')",
    [connection, toolkit, organizationId, await sealIn(bindings.mcp_connections, 'value')],
  );
  await inDatabase(
    "insert into mcp_authorizations (state_hash, connection_id, organization_id, verifier_enc, expires_at) values (?, ?, ?, ?, now() + interval '1 day')",
    [state, connection, organizationId, await sealIn(bindings.mcp_authorizations, 'value')],
  );
  await inDatabase(
    "insert into agents (id, scope, organization_id, workspace_id, slug, name) values (?, 'workspace', ?, ?, 'agent', 'Agent')",
    [agent, organizationId, place.workspaceId],
  );
  await inDatabase(
    "insert into webhook_endpoints (id, organization_id, workspace_id, agent_id, slug, secrets_enc, prompt_template) values (?, ?, ?, ?, 'hook', ?, 'Go')",
    [endpoint, organizationId, place.workspaceId, agent, await sealIn(bindings.webhook_endpoints, 'value')],
  );
  await inDatabase(
    "insert into channels (id, organization_id, workspace_id, agent_id, kind, name, settings, secrets_enc) values (?, ?, ?, ?, 'slack', 'Chat', '{}', ?)",
    [channel, organizationId, place.workspaceId, agent, await sealIn(bindings.channels, 'value')],
  );
  await inDatabase(
    `insert into channel_messages (id, organization_id, workspace_id, channel_id, external_id, thread_id, sender_id, text, route, token_enc, status)
     values (?, ?, ?, ?, 'm', 't', 's', 'Hi', '{}', ?, 'received')`,
    [message, organizationId, place.workspaceId, channel, await sealIn(bindings.channel_messages, 'value')],
  );
  const ids = {
    secrets: secret,
    totp_factors: user,
    idempotency_keys: reply,
    signing_keys: kid,
    mcp_connections: connection,
    mcp_authorizations: state,
    webhook_endpoints: endpoint,
    channels: channel,
    channel_messages: message,
  };
  return encryptedTables.map((table) => ({ table, key: ids[table], binding: bindings[table] }));
}

async function envelopeAt({ table, key }: Sealed): Promise<Buffer> {
  const { key: column, envelope } = encryptedColumns[table];
  const found = await sweep(database.db, (em) =>
    row<{ envelope: Buffer }>(em, `select ${envelope} as envelope from ${table} where ${column} = ?`, [key]),
  );
  return found?.envelope ?? Buffer.alloc(0);
}

async function openAt(sealed: Sealed, ring: KeyRing): Promise<string> {
  const envelope = await envelopeAt(sealed);
  return (await sweep(database.db, (em) => decrypt(em, ring, sealed.binding, envelope))).toString();
}

test('after keys rotate every value opens with the new deployment key alone; nothing is changed twice', async () => {
  const sealed = await sealEverywhere();
  const ring = newer(keys);

  const rotated = await rotateKeys(database.db, ring, { reencrypt: false });
  const again = await rotateKeys(database.db, ring, { reencrypt: false });

  expect(rotated).toEqual({ rewrapped: 2, renewed: 0, reencrypted: 0, undecrypted: [] });
  expect(again).toMatchObject({ rewrapped: 0 });
  const only = { ...ring, keks: [ring.keks[0]] as const };
  for (const each of sealed) expect(await openAt(each, only)).toBe('value');
});

test('--reencrypt renews data keys and every value; old and new open meanwhile, and it is audited in the platform chain', async () => {
  const sealed = await sealEverywhere();
  const before = await Promise.all(sealed.map(envelopeAt));
  const ring = newer(keys);

  const rotated = await rotateKeys(database.db, ring, { reencrypt: true });

  expect(rotated).toEqual({ rewrapped: 2, renewed: 2, reencrypted: 9, undecrypted: [] });
  const live = (await dataKeys()).filter((key) => !key.is_retired).map(({ id }) => id);
  expect(live).toHaveLength(2);
  for (const [at, each] of sealed.entries()) {
    const envelope = await envelopeAt(each);
    expect(envelope).not.toEqual(before[at]);
    expect(live).toContain(keyIdOf(envelope));
    expect(await openAt(each, ring)).toBe('value');
    expect((await sweep(database.db, (em) => decrypt(em, ring, each.binding, before[at] ?? Buffer.alloc(0)))).toString()).toBe('value');
  }
  expect(await ask('select body_key_id from idempotency_keys')).toEqual([{ body_key_id: keyIdOf(await envelopeAt(sealed[3] ?? fail())) }]);
  const audited = await ask<{ organization_id: null; changes: Record<string, unknown> }>(
    "select organization_id, changes from audit_entries where resource_type = 'data_key' order by created_at, id",
  );
  expect(audited.every((entry) => entry.organization_id === null)).toBe(true);
  expect(audited.map(({ changes }) => Object.keys(changes).toSorted().join())).toEqual([
    'kek,rewrapped',
    'renewed',
    ...encryptedTables.map(() => 'resealed,table'),
  ]);
});

test('a renewal that was interrupted goes on without making keys again; the next one makes new ones', async () => {
  const [secret] = await sealEverywhere();
  const ring = newer(keys);
  await inDatabase(
    "insert into system_marks (name, at, detail) values ('keys_reencrypt', now(), jsonb_build_object('before', now()::text, 'is_done', false)) on conflict (name) do update set detail = excluded.detail",
  );

  const first = await rotateKeys(database.db, ring, { reencrypt: true });
  await inDatabase("update system_marks set detail = detail || '{\"is_done\": false}' where name = 'keys_reencrypt'");
  const resumed = await rotateKeys(database.db, ring, { reencrypt: true });
  const next = await rotateKeys(database.db, ring, { reencrypt: true });

  expect(first).toMatchObject({ renewed: 2, reencrypted: 9 });
  expect(resumed).toMatchObject({ renewed: 0, reencrypted: 0 });
  expect(next).toMatchObject({ renewed: 2, reencrypted: 9 });
  expect(await openAt(secret ?? fail(), ring)).toBe('value');
});

test('an envelope that does not open is named and left; the others are done, and it is done once it is mended', async () => {
  const [secret] = await sealEverywhere();
  const good = await envelopeAt(secret ?? fail());
  const bad = Buffer.from(good);
  bad[bad.length - 1] = (bad.at(-1) ?? 0) ^ 1;
  await inDatabase('update secrets set value_envelope = ?', [bad]);
  const ring = newer(keys);

  const rotated = await rotateKeys(database.db, ring, { reencrypt: true });
  expect(rotated).toMatchObject({ reencrypted: 8, undecrypted: [{ table: 'secrets', key: secret?.key }] });
  expect(await envelopeAt(secret ?? fail())).toEqual(bad);

  await inDatabase('update secrets set value_envelope = ?', [good]);
  expect(await rotateKeys(database.db, ring, { reencrypt: true })).toMatchObject({ reencrypted: 9, undecrypted: [] });
});

test('an envelope that never opens again keeps no later renewal from making new keys', async () => {
  const [secret] = await sealEverywhere();
  await inDatabase(
    'update secrets set value_envelope = set_byte(value_envelope, length(value_envelope) - 1, 255 - get_byte(value_envelope, length(value_envelope) - 1))',
  );
  const ring = newer(keys);

  const first = await rotateKeys(database.db, ring, { reencrypt: true });
  const next = await rotateKeys(database.db, ring, { reencrypt: true });

  expect([first.renewed, next.renewed]).toEqual([2, 2]);
  expect(next).toMatchObject({ reencrypted: 8, undecrypted: [{ table: 'secrets', key: secret?.key }] });
});

test('a deployment key that is missing is named, and nothing is changed', async () => {
  await sealEverywhere();
  const before = await dataKeys();

  await expect(rotateKeys(database.db, randomKeyRing(), { reencrypt: true })).rejects.toThrow('LONGHAUL_KEKS lacks');
  expect(await dataKeys()).toEqual(before);
});

test('two rotations at once do the work of one', async () => {
  const sealed = await sealEverywhere();
  const ring = newer(keys);

  await Promise.all([1, 2].map(() => rotateKeys(database.db, ring, { reencrypt: true })));

  for (const each of sealed) expect(await openAt(each, ring)).toBe('value');
  const live = (await dataKeys()).filter((key) => !key.is_retired);
  expect(live).toHaveLength(2);
});

test("the platform's own signing keys still sign after a renewal", async () => {
  const signing = createSigningKeys({ db: database.db, keys, now: () => new Date() });
  await signing.ensure();
  const { kid } = await signing.current();
  signing.close();
  const ring = newer(keys);

  await rotateKeys(database.db, ring, { reencrypt: true });

  const after = createSigningKeys({ db: database.db, keys: ring, now: () => new Date() });
  await after.ensure();
  expect((await after.current()).kid).toBe(kid);
  after.close();
});

function fail(): never {
  throw new Error('nothing was sealed');
}
