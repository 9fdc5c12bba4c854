import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { row } from '../../../db/sql.ts';
import { goodPassword, newAddress, openPeople, type People } from '../users/people.ts';

let people: People;
/** A second process of the same deployment. */
let second: People;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  second = await openPeople({ database, keys, redisPrefix });
});

afterAll(async () => {
  await second.close();
  await people.close();
});

const invite = async (token: string, body: object = {}) =>
  (await people.call(token, 'POST', '/invitations', { body: { email: newAddress(), role: 'member', ...body } })).body;
const resend = (world: People, token: string, id: string) => world.call(token, 'POST', `/invitations/${id}/resend`);
const accept = (email: string, token: string) => people.ask('POST', '/invitations/accept', { token, email, password: goodPassword });
const anHourLater = (id: string) =>
  people.rows(`update invitations set queued_at = now() - interval '1 hour' where id = ? returning 1`, [id]);

test('resending gives a new token and end, and the old token is dead', async () => {
  const { tokens } = await people.tenant();
  const made = await invite(tokens.admin);
  const old = await people.tokenOf(made.id);
  await people.rows(`update invitations set expires_at = now() - interval '1 day' where id = ? returning 1`, [made.id]);

  const sent = await resend(people, tokens.admin, made.id);
  const fresh = await people.tokenOf(made.id);

  expect(sent).toMatchObject({ status: 202, body: { id: made.id, status: 'pending' } });
  expect(Date.parse(sent.body.expires_at)).toBeGreaterThan(Date.now() + 6 * 86_400_000);
  expect(fresh).not.toBe(old);
  expect((await accept(made.email, old)).status).toBe(410);
  expect((await accept(made.email, fresh)).status).toBe(200);
  expect((await people.entriesOf(made.id)).at(-1)).toMatchObject({
    operation_id: 'resendInvitation',
    changes: { token: { changed: true }, status: { from: 'expired', to: 'pending' } },
  });
});

test('of two who resend at once on two processes one sends, and one token lives', async () => {
  const { tokens } = await people.tenant();
  const made = await invite(tokens.admin);

  const both = await Promise.all([resend(people, tokens.admin, made.id), resend(second, tokens.owner, made.id)]);
  const mails = await people.rows<{ id: string }>(`select id from outbox where payload -> 'mail' ->> 'invitationId' = ?`, [made.id]);

  expect(both.map(({ status }) => status).toSorted()).toEqual([202, 429]);
  expect(mails).toHaveLength(2);
  expect((await accept(made.email, await people.tokenOf(made.id))).status).toBe(200);
});

test('once a minute and ten times in all', async () => {
  const { tokens } = await people.tenant();
  const { id } = await invite(tokens.admin);

  const first = await resend(people, tokens.admin, id);
  const soon = await resend(people, tokens.admin, id);
  const later: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    await anHourLater(id);
    later.push((await resend(people, tokens.admin, id)).status);
  }
  await anHourLater(id);
  const over = await resend(people, tokens.admin, id);

  expect(first.status).toBe(202);
  expect(soon).toMatchObject({ status: 429, body: { code: 'rate_limited', context: { violated_policies: ['invitation_resend'] } } });
  expect(Number(soon.headers['retry-after'])).toBeGreaterThan(50);
  expect(later).toEqual([...Array.from({ length: 9 }, () => 202), 409]);
  expect(over).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'limit_reached' } } });
});

test('accepted and revoked ones are not sent again, nor those above the caller’s rank, nor foreign ones', async () => {
  const [tenant, other] = await Promise.all([people.tenant(), people.tenant()]);
  const { tokens, organizationOwner, workspaceId } = tenant;
  const [accepted, revoked, above] = [
    await invite(tokens.admin),
    await invite(tokens.admin),
    await invite(organizationOwner.token, { workspace_id: workspaceId, role: 'owner' }),
  ];
  await accept(accepted.email, await people.tokenOf(accepted.id));
  await people.call(tokens.admin, 'DELETE', `/invitations/${revoked.id}`);

  for (const { id } of [accepted, revoked]) {
    const refused = await resend(people, tokens.admin, id);
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'not_pending' } } });
  }
  expect(await resend(people, tokens.admin, above.id)).toMatchObject({ status: 403, body: { context: { reason: 'rank' } } });
  expect((await resend(people, other.organizationOwner.token, above.id)).status).toBe(404);
});

test('a resend and an acceptance at once leave either a user or a living new token', async () => {
  const { tokens } = await people.tenant();

  for (let n = 0; n < 5; n += 1) {
    const made = await invite(tokens.admin);
    const old = await people.tokenOf(made.id);
    const [accepted, sent] = await Promise.all([accept(made.email, old), resend(second, tokens.admin, made.id)]);

    expect([
      [200, 409],
      [410, 202],
    ]).toContainEqual([accepted.status, sent.status]);
    if (sent.status === 202) expect((await accept(made.email, await people.tokenOf(made.id))).status).toBe(200);
  }
});

test('a resend locks the organization before the invitation, as inviting again does, so that neither waits for the other for ever', async () => {
  const { tokens, organizationId } = await people.tenant();
  const { id } = await invite(tokens.admin);
  const waiting = 'select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))';

  const sent = await sweep(people.api.db, async (em) => {
    await row(em, 'select id from organizations where id = ? for no key update', [organizationId]);
    const answer = resend(second, tokens.admin, id);
    while (!(await row(em, waiting))) await new Promise((resolve) => setImmediate(resolve));

    const free = await row(em, 'select id from invitations where id = ? for no key update skip locked', [id]);
    return { free, answer };
  });

  expect(sent.free).toEqual({ id });
  expect((await sent.answer).status).toBe(202);
});

test('an expired invitation counts again when it is resent', async () => {
  const { tokens, organizationId, workspaceId } = await people.tenant();
  const { id } = await invite(tokens.admin);
  await people.rows(`update invitations set expires_at = now() - interval '1 day' where id = ? returning 1`, [id]);
  await people.rows(
    `insert into invitations (id, organization_id, workspace_id, scope, email, role, token_hash, expires_at)
     select gen_random_uuid(), ?, ?, 'workspace', n || ?, 'viewer', sha256((n || ?)::bytea), now() + interval '1 day' from generate_series(1, 100) n returning 1`,
    [organizationId, workspaceId, newAddress(), newAddress()],
  );

  expect(await resend(people, tokens.admin, id)).toMatchObject({ status: 409, body: { context: { reason: 'limit_reached' } } });
});
