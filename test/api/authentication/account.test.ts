import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword, type TestUser } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';
import { mailedToken, mailsTo, makeStale, resetTokenOf } from './second-factor.ts';

let client: Client;
let second: Client;

beforeAll(async () => {
  const env = { RATE_LIMITS: 'anonymous=100000/60,mail_ip=100000/60', MAIL_DIR: tmpdir() };
  client = await openClient({ env });
  const { database, keys, redisPrefix } = client.api;
  second = await openClient({ env, database, keys, redisPrefix });
});
afterAll(async () => {
  await second.close();
  await client.close();
});

const me = (token: string) => client.call('GET', '/auth/me', { token });
const update = (token: string, body: object, headers: Record<string, string> = {}) =>
  client.call('PATCH', '/auth/me', { token, body, headers });
const confirm = (process: Client, token: string) => process.call('POST', '/auth/email/confirm', { body: { token } });
const freshAddress = () => `new-${crypto.randomUUID()}@example.test`;
const confirmationOf = (user: TestUser) => mailedToken(client, 'email_confirm', user.id);

test('name and locale change at once, null clears them, and nothing sent changes nothing', async () => {
  const { users, organizationId } = await client.tenant();
  const { token, id } = users.member;

  const changed = await update(token, { full_name: 'Ada Lovelace', locale: 'EN-gb' });
  const kept = await update(token, {});
  const cleared = await update(token, { full_name: null, locale: null });

  expect(changed).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { user: { full_name: 'Ada Lovelace' }, locale: 'en-GB' } });
  expect(kept).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { user: { full_name: 'Ada Lovelace' } } });
  expect(kept.body.user.updated_at).toBe(changed.body.user.updated_at);
  expect(cleared).toMatchObject({ headers: { etag: '"3"' }, body: { user: { full_name: null }, locale: null } });
  expect(
    await client.rows(
      "select resource_id, changes from audit_entries where organization_id = ? and operation_id = 'updateMe' order by id",
      [organizationId],
    ),
  ).toEqual([
    { resource_id: id, changes: { full_name: { changed: true }, locale: { from: null, to: 'en-GB' } } },
    { resource_id: id, changes: {} },
    { resource_id: id, changes: { full_name: { changed: true }, locale: { from: 'en-GB', to: null } } },
  ]);
});

test('of parallel changes with one If-Match one wins, the others are 412 with the present tag', async () => {
  const { users } = await client.tenant();
  const names = Array.from({ length: 8 }, (_, at) => `Name ${at}`);

  const answers = await Promise.all(names.map((name) => update(users.member.token, { full_name: name }, { 'if-match': '"1"' })));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 412)]);
  expect(answers.find(({ status }) => status === 412)?.body).toMatchObject({ code: 'precondition_failed', context: { etag: '"2"' } });
});

test.each([
  ['role', { role: 'owner' }],
  ['is_active', { is_active: true }],
  ['scopes', { scopes: ['*'] }],
  ['organization_id', { organization_id: '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b' }],
  ['a confirmation', { email_verified_at: '2026-01-01T00:00:00.000Z' }],
  ['a locale that is none', { locale: 'not a tag!' }],
  ['an empty name', { full_name: '' }],
  ['no address', { email: null }],
  ['a garbled address', { email: 'nobody' }],
])('%s in the body is 422 and changes nothing', async (_name, body) => {
  const { users } = await client.tenant();

  expect(await update(users.member.token, { full_name: 'Kept out', ...body })).toMatchObject({ status: 422 });
  expect(await me(users.member.token)).toMatchObject({ headers: { etag: '"1"' }, body: { user: { full_name: null, role: 'member' } } });
});

test('another address waits for its confirmation: a token to the new one, a notice to the old', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const email = freshAddress();

  const asked = await update(user.token, { email: ` ${email.toUpperCase()}`.trim() });
  const mails = await client.rows("select payload -> 'mail' as mail from outbox where payload -> 'mail' ->> 'userId' = ? order by id", [
    user.id,
  ]);
  const confirmed = await confirm(client, await confirmationOf(user));

  expect(asked).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { user: { email: user.email }, pending_email: email } });
  expect(mails).toEqual([
    { mail: { template: 'email_confirm', userId: user.id, to: email } },
    { mail: { template: 'email_change_notice', userId: user.id, to: user.email } },
  ]);
  expect(confirmed).toMatchObject({ status: 204, body: null });
  expect(await me(user.token)).toMatchObject({ headers: { etag: '"3"' }, body: { user: { email }, pending_email: null } });
  expect((await client.logIn(user.email, testPassword)).status).toBe(401);
  expect((await client.logIn(email, testPassword)).status).toBe(200);
  const entries = await client.rows("select changes from audit_entries where operation_id = 'confirmEmail' and actor_id = ?", [user.id]);
  expect(entries).toEqual([{ changes: { email: { changed: true } } }]);
});

test('a change of address needs a verification of the last ten minutes, a change of name none', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await makeStale(client, user.sessionId);

  expect(await update(user.token, { email: freshAddress(), full_name: 'Not yet' })).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'step_up_required' } },
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  });
  expect((await me(user.token)).body).toMatchObject({ pending_email: null, user: { full_name: null } });
  expect(await mailsTo(client, user.id)).toEqual([]);
  expect((await update(user.token, { full_name: 'Now' })).status).toBe(200);
});

test('whether an address is taken is not told before its confirmation: then 409, and nothing has changed', async () => {
  const { users } = await client.tenant();
  const [user, other] = [users.member, users.viewer];

  const taken = await update(user.token, { email: other.email });
  const free = await update(users.admin.token, { email: freshAddress() });
  const token = await confirmationOf(user);

  expect([taken.status, Object.keys(taken.body)]).toEqual([free.status, Object.keys(free.body)]);
  expect(await confirm(client, token)).toMatchObject({ status: 409, body: { code: 'already_exists', context: { field: 'email' } } });
  expect((await me(user.token)).body).toMatchObject({ user: { email: user.email }, pending_email: other.email });
});

test('a confirmation works once, also in parallel over two processes', async () => {
  const { users } = await client.tenant();
  await update(users.member.token, { email: freshAddress() });
  const token = await confirmationOf(users.member);

  const answers = await Promise.all([client, second, client, second].map((process) => confirm(process, token)));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 410, 410, 410]);
});

test('only the newest request counts, and asking for the own address gives it up', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const gone = { status: 410, body: { code: 'gone' } };
  await update(user.token, { email: freshAddress() });
  const first = await confirmationOf(user);
  await update(user.token, { email: freshAddress() });
  const newer = await confirmationOf(user);
  const [wanted] = await client.rows<{ pending_email: string }>('select pending_email from user_credentials where user_id = ?', [user.id]);
  await update(user.token, { email: wanted?.pending_email });
  const newest = await confirmationOf(user);

  for (const token of [first, newer]) expect(await confirm(client, token)).toMatchObject(gone);
  expect((await update(user.token, { email: user.email })).body.pending_email).toBeNull();
  expect(await confirm(client, newest)).toMatchObject(gone);
  expect((await me(user.token)).body.user.email).toBe(user.email);
});

test('a confirmation dies after a day, and with its user', async () => {
  const { users } = await client.tenant();
  await update(users.member.token, { email: freshAddress() });
  const [life] = await client.rows<{ hours: number }>(
    "select round(extract(epoch from expires_at - now()) / 3600)::int as hours from auth_challenges where user_id = ? and purpose = 'email_confirm'",
    [users.member.id],
  );
  await client.rows("update auth_challenges set expires_at = now() - interval '1 second' where user_id = ?", [users.member.id]);
  await update(users.viewer.token, { email: freshAddress() });
  await client.rows('update users set is_active = false where id = ?', [users.viewer.id]);

  expect(life).toEqual({ hours: 24 });
  expect(await confirm(client, await confirmationOf(users.member))).toMatchObject({ status: 410 });
  expect(await confirm(client, await confirmationOf(users.viewer))).toMatchObject({ status: 410 });
});

test('reset tokens that were mailed to the old address die with it', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const token = await resetTokenOf(client, user.id);
  await update(user.token, { email: freshAddress() });
  await confirm(client, await confirmationOf(user));

  const body = { token, new_password: 'violet anchor meadow 42' };
  expect(await client.call('POST', '/auth/password/reset', { body })).toMatchObject({ status: 410, body: { code: 'gone' } });
});

test('an own address that nobody has confirmed can be confirmed', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await client.rows('update user_credentials set email_verified_at = null where user_id = ?', [user.id]);

  await update(user.token, { email: user.email });
  expect(await mailsTo(client, user.id)).toEqual(['email_confirm']);
  expect((await confirm(client, await confirmationOf(user))).status).toBe(204);

  expect(
    await client.rows('select email_verified_at is not null as is_verified from user_credentials where user_id = ?', [user.id]),
  ).toEqual([{ is_verified: true }]);
});

test("addresses outside the organization's domains are 422; three mails an hour to one address, then 429", async () => {
  const { users, organizationId } = await client.tenant();
  const wanted = freshAddress();

  for (let round = 0; round < 3; round++) expect((await update(users.admin.token, { email: wanted })).status).toBe(200);
  expect(await update(users.owner.token, { email: wanted })).toMatchObject({
    status: 429,
    body: { context: { violated_policies: ['mail_account'] } },
  });
  await client.rows("update organization_settings set allowed_email_domains = '{corp.test}' where organization_id = ?", [organizationId]);

  expect(await update(users.member.token, { email: freshAddress() })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/email' }] },
  });
});

test("without a mailer nobody's address changes", async () => {
  const { database, keys } = client.api;
  const silent = await openClient({ database, keys });
  const { users } = await silent.tenant();
  const answer = await silent.call('PATCH', '/auth/me', { token: users.member.token, body: { email: freshAddress() } });
  await silent.close();

  expect(answer).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'no_mailer' } } });
});

test('an operator changes their own name, whatever they look at', async () => {
  const { users, organizationId } = await client.tenant();
  const answer = await update(users.operator.token, { full_name: 'Op' }, { 'x-view-organization': organizationId });

  expect(answer).toMatchObject({ status: 200, body: { user: { id: users.operator.id, full_name: 'Op' } } });
  expect(await client.rows('select organization_id from audit_entries where actor_id = ?', [users.operator.id])).toEqual([
    { organization_id: null },
  ]);
});

test('a frozen organization stops nobody from changing their own account', async () => {
  const { users, organizationId } = await client.tenant();
  await client.rows("update organizations set status = 'suspended', suspended_at = now() where id = ?", [organizationId]);

  expect((await update(users.member.token, { full_name: 'Still here' })).status).toBe(200);
});

test("the ETag of a key is the key's own version, and a key changes nobody", async () => {
  const { serviceKey } = await client.tenant();
  await client.rows('update service_keys set version = 7 where id = ?', [serviceKey.id]);

  expect((await me(serviceKey.plaintext)).headers['etag']).toBe('"7"');
  expect(await update(serviceKey.plaintext, { full_name: 'x' })).toMatchObject({ status: 403, body: { code: 'scope_insufficient' } });
});
