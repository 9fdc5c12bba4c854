import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { sweepLoginFailures } from '../../../domain/identity/factors/login-failure-retention.ts';
import { identitySweeps, sweepIdentity } from '../../../db/identity/sessions/sweep.ts';
import { newId } from '../../../db/ids.ts';
import { change, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { makeTenant, type TestTenant } from '../../support/tenant.ts';

let database: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  tenant = await makeTenant(database.db, randomKeyRing());
});
afterAll(() => database.drop());

const write = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const labels = (sql: string) =>
  sweep(database.db, (em) => rows<{ label: string }>(em, sql)).then((found) => found.map(({ label }) => label));
/** Sweeps everything, as the schedule does, in batches of that size. */
async function sweepAll(limit = 5_000): Promise<number> {
  let deleted = await sweepLoginFailures(database.db, new AbortController().signal);
  for (const what of identitySweeps) {
    for (let count = limit; count === limit; deleted += count) count = await sweep(database.db, (em) => sweepIdentity(em, what, limit));
  }
  return deleted;
}

/** Two rows of a kind: one that is over and one that just isn't. */
async function pairOf(insert: (label: 'over' | 'live') => Promise<unknown>): Promise<void> {
  await insert('over');
  await insert('live');
}

test('challenges, codes, transactions and stream tokens go at their end', async () => {
  const { id: userId, organizationId } = tenant.users.member;
  const ends = { over: '-1 second', live: '1 minute' };
  await pairOf((label) =>
    write(
      `insert into auth_challenges (id, purpose, user_id, organization_id, attempts, payload, expires_at)
      values (?, 'login', ?, ?, 0, ?::jsonb, now() + ?::interval)`,
      [newId(), userId, organizationId, JSON.stringify({ label }), ends[label]],
    ),
  );
  await pairOf((label) =>
    write(
      `insert into oauth_codes (code_hash, client_id, user_id, organization_id, redirect_uri, code_challenge, scope, resource, expires_at)
      values (?, ?, ?, ?, 'x', 'x', 'x', 'x', now() + ?::interval)`,
      [Buffer.from(label), label, userId, organizationId, ends[label]],
    ),
  );
  await pairOf((label) =>
    write(`insert into oauth_transactions (id_hash, client_id, request, expires_at) values (?, ?, '{}', now() + ?::interval)`, [
      Buffer.from(label),
      label,
      ends[label],
    ]),
  );

  await sweepAll();

  expect(await labels("select payload ->> 'label' as label from auth_challenges")).toEqual(['live']);
  expect(await labels('select client_id as label from oauth_codes')).toEqual(['live']);
  expect(await labels('select client_id as label from oauth_transactions')).toEqual(['live']);
});

test('refresh tokens go 7 days after their end, sessions 90 days after theirs, with what hangs on them', async () => {
  const { id: userId, organizationId } = tenant.users.viewer;
  const session = async (label: string, revoked: string | null, ends: string) => {
    const id = newId();
    await write(
      `insert into sessions (id, user_id, organization_id, device_label, user_agent, ip_truncated, verified_at, last_seen_at, idle_expires_at, expires_at, revoked_at)
      values (?, ?, ?, ?, 'x', 'x', now(), now(), now() + ?::interval, now() + interval '400 days', now() - ?::interval)`,
      [id, userId, organizationId, label, ends, revoked],
    );
    return id;
  };
  const live = await session('live', null, '1 day');
  await session('revoked', '89 days', '1 day');
  await session('ended', null, '-89 days');
  const dead = await session('dead', '91 days', '1 day');
  await session('over', null, '-91 days');
  const refresh = (sessionId: string, label: string, ends: string) =>
    write(
      `insert into refresh_tokens (id, session_id, user_id, organization_id, token_hash, oauth_scope, expires_at) values (?, ?, ?, ?, ?, ?, now() + ?::interval)`,
      [newId(), sessionId, userId, organizationId, Buffer.from(label), label, ends],
    );
  await refresh(live, 'fresh', '1 day');
  await refresh(live, 'six', '-6 days');
  await refresh(live, 'eight', '-8 days');
  await refresh(dead, 'of the dead', '1 day');

  await sweepAll();

  expect(await labels('select device_label as label from sessions where device_label is not null order by 1')).toEqual([
    'ended',
    'live',
    'revoked',
  ]);
  expect(await labels('select oauth_scope as label from refresh_tokens order by 1')).toEqual(['fresh', 'six']);
});

test('clients that registered themselves or came with a document go with their sessions after 30 days without use, others stay', async () => {
  const client = (label: string, kind: string, created: string, used: string | null) =>
    write(
      `insert into oauth_clients (id, client_id, kind, client_name, token_endpoint_auth_method, created_at, last_used_at)
      values (?, ?, ?, 'x', 'none', now() - ?::interval, now() - ?::interval)`,
      [newId(), label, kind, created, used],
    );
  await client('new', 'registered', '29 days', null);
  await client('used', 'registered', '99 days', '29 days');
  await client('ours', 'preregistered', '99 days', null);
  await client('unused', 'registered', '31 days', null);
  await client('forgotten', 'registered', '99 days', '31 days');
  await client('https://app.test/asked-once', 'document', '31 days', null);
  await client('https://app.test/in-use', 'document', '99 days', '29 days');
  await client('https://app.test/asked-again', 'document', '99 days', null);
  await write("update oauth_clients set document_expires_at = now() - interval '29 days' where client_id like '%/asked-again'");
  await client('https://app.test/shut-out', 'document', '99 days', null);
  await write("update oauth_clients set deleted_at = now() where client_id like '%/shut-out'");
  const { id: userId, organizationId } = tenant.users.admin;
  for (const label of ['used', 'forgotten'])
    await write(
      `insert into sessions (id, user_id, organization_id, kind, client_id, user_agent, ip_truncated, verified_at, last_seen_at, idle_expires_at, expires_at)
      values (?, ?, ?, 'oauth', ?, 'x', 'x', now(), now(), now() + interval '1 day', now() + interval '1 day')`,
      [newId(), userId, organizationId, label],
    );

  await sweepAll();

  expect(await labels('select client_id as label from oauth_clients order by 1')).toEqual([
    'https://app.test/asked-again',
    'https://app.test/in-use',
    'https://app.test/shut-out',
    'new',
    'ours',
    'used',
  ]);
  expect(await labels('select client_id as label from sessions where client_id is not null and revoked_at is null')).toEqual(['used']);
});

test('failed sign-ins go as their organization says, those of nobody after 90 days', async () => {
  await write('update organization_settings set failed_login_retention_days = 7 where organization_id = ?', [tenant.organizationId]);
  const failure = (label: string, organizationId: string | null, age: string) =>
    write(
      `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason) values (?, now() - ?::interval, 'x', ?, 'x', ?)`,
      [newId(), age, organizationId, label],
    );
  await failure('six days', tenant.organizationId, '6 days');
  await failure('eight days', tenant.organizationId, '8 days');
  await failure('89 days, nobody', null, '89 days');
  await failure('91 days, nobody', null, '91 days');

  await sweepAll();

  expect(await labels('select reason as label from login_failures order by 1')).toEqual(['89 days, nobody', 'six days']);
});

test('batches come to the same end, and a second sweep finds nothing', async () => {
  await write(
    `insert into oauth_transactions (id_hash, client_id, request, expires_at)
    select convert_to('n' || n, 'utf8'), 'many', '{}', now() - interval '1 second' from generate_series(1, 25) n`,
  );

  expect(await sweepAll(10)).toBe(25);
  expect(await sweepAll(10)).toBe(0);
  expect(await labels("select client_id as label from oauth_transactions where client_id = 'many'")).toEqual([]);
});
