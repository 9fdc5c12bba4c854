import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bearer } from '../../support/tenant.ts';
import { age, approve, exchange, grantTo, openOauth, refresh, type OauthWorld } from './client.ts';

let world: OauthWorld;
let second: TestApi;

beforeAll(async () => {
  world = await openOauth();
  second = await startApi({ database: world.api.database, keys: world.api.keys, redisPrefix: world.api.redisPrefix });
});

afterAll(async () => {
  await second.close();
  await world.close();
});

test('20 refreshes of one token over two processes: one gets tokens, the others invalid_grant, and the grant lives', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const grant = await grantTo(world, client, users.member);
  const payload = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: grant.refresh, client_id: client.clientId }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      (at % 2 === 0 ? world.api : second).app.inject({ method: 'POST', url: '/oauth/token', headers, payload }),
    ),
  );
  const won = answers.filter(({ statusCode }) => statusCode === 200).map((reply) => JSON.parse(reply.body));
  const lost = answers.filter(({ statusCode }) => statusCode !== 200).map((reply) => [reply.statusCode, JSON.parse(reply.body).error]);

  expect(won).toHaveLength(1);
  expect(lost).toEqual(Array.from({ length: 19 }, () => [400, 'invalid_grant']));
  expect((await world.get('/auth/me', bearer(won[0].access_token))).status).toBe(200);
  expect((await refresh(world, client, won[0].refresh_token)).status).toBe(200);
});

test('a token used before comes back 11 s later: refused, and the grant is dead although the reply was an error', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const grant = await grantTo(world, client, users.member);
  const renewed = await refresh(world, client, grant.refresh);

  await age(world, "update refresh_tokens set used_at = used_at - interval '11 seconds' where token_hash = sha256(?::bytea)", [
    Buffer.from(grant.refresh),
  ]);
  const reused = await refresh(world, client, grant.refresh);

  expect(reused).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error: 'invalid_grant' } });
  expect((await world.get('/auth/me', bearer(renewed.body.access_token))).status).toBe(401);
  expect(await refresh(world, client, renewed.body.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('both refusals of a refresh look alike', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const grant = await grantTo(world, client, users.member);
  await refresh(world, client, grant.refresh);

  const raced = await refresh(world, client, grant.refresh);
  const unknown = await refresh(world, client, `lh_rt_${'A'.repeat(43)}`);

  const told = ({ body }: typeof raced) => [body.status, body.code, body.error, body.detail, body.context];
  expect(told(raced)).toEqual(told(unknown));
});

test('another client, the session refresh and a dead session get nothing for a refresh token', async () => {
  const { tokens, users } = await world.tenant();
  const [client, other] = [await world.client(tokens.operator), await world.client(tokens.operator)];
  const grant = await grantTo(world, client, users.member);

  const foreign = await refresh(world, other, grant.refresh);
  const asSession = await world.json(null, '/auth/refresh', { refresh_token: grant.refresh });
  const right = await refresh(world, client, grant.refresh);
  await age(world, "update sessions set idle_expires_at = now() - interval '1 second' where client_id = ?", [client.clientId]);
  const tooLate = await refresh(world, client, right.body.refresh_token);

  expect(foreign).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(asSession).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  expect(right.status).toBe(200);
  expect(tooLate).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('a narrower refresh gives less now and takes nothing from later ones', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);
  const grant = await grantTo(world, client, users.member);

  const less = await refresh(world, client, grant.refresh, { scope: 'runs:read' });
  const me = await world.get('/auth/me', bearer(less.body.access_token));
  const all = await refresh(world, client, less.body.refresh_token);

  expect(less.body.scope).toBe('runs:read');
  expect(me.body.scopes).toEqual(['runs:read']);
  expect(all.body.scope).toBe('runs:read agents:read');
});

test('revoked at one process, a grant is dead at the other at once; a second grant of the client lives on', async () => {
  const { tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const both = await Promise.all(
    [0, 1].map(async () => (await exchange(world, client, await approve(world, client, { token: tokens.member }))).body),
  );
  const meAt = (token: string) => second.app.inject({ method: 'GET', url: '/auth/me', headers: bearer(token) });
  await Promise.all(both.map(({ access_token: token }) => meAt(token)));

  await world.form('/oauth/revoke', { token: both[0].refresh_token, client_id: client.clientId });

  expect((await meAt(both[0].access_token)).statusCode).toBe(401);
  expect((await meAt(both[1].access_token)).statusCode).toBe(200);
});

test('the user is told by mail of a refresh token that came back', async () => {
  const mailing = await openOauth({ env: { MAIL_DIR: '/tmp/longhaul-mails-of-tests' } });
  const { tokens, users } = await mailing.tenant();
  const client = await mailing.client(tokens.operator);
  const grants = [await grantTo(mailing, client, users.member), await grantTo(mailing, client, users.operator)];

  for (const grant of grants) await refresh(mailing, client, grant.refresh);
  await age(mailing, "update refresh_tokens set used_at = used_at - interval '11 seconds'");
  const reused = [];
  for (const grant of grants) reused.push((await refresh(mailing, client, grant.refresh)).status);
  const mails = await sweep(mailing.api.db, (em) =>
    rows<{ user_id: string }>(em, "select payload -> 'mail' ->> 'userId' as user_id from outbox where kind = 'mail' order by id"),
  );
  await mailing.close();

  expect(reused).toEqual([400, 400]);
  expect(mails.map((mail) => mail.user_id)).toEqual([users.member.id, users.operator.id]);
});
