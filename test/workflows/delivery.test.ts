import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { newId } from '../../db/ids.ts';
import { sweepOutbox } from '../../db/outbox-sending.ts';
import { sweep } from '../../db/transaction.ts';
import { valueOf } from '../support/metrics.ts';
import { makeUser } from '../support/tenant.ts';
import { openDeliveryWorld, publicUrl, tokenIn, type DeliveryWorld } from './delivery-world.ts';

interface Challenge {
  readonly id: string;
  readonly token_hash: Buffer;
  readonly organization_id: string;
  readonly minutes: number;
}

let world: DeliveryWorld;

beforeAll(async () => {
  world = await openDeliveryWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  world.server.refuse = null;
});

const mailsTo = (address: string) =>
  world.server.mails.filter((mail) => JSON.stringify(mail.to).includes(address)).map((mail) => mail.text ?? '');
const challengesOf = (userId: string) =>
  world.one<{ all: Challenge[] }>(
    `select coalesce(json_agg(json_build_object('id', id, 'token_hash', encode(token_hash, 'hex'), 'organization_id', organization_id,
      'minutes', round(extract(epoch from expires_at - created_at) / 60)) order by id), '[]') as all
    from auth_challenges where user_id = ? and purpose = 'password_reset'`,
    [userId],
  );
const stored = (outboxId: string) =>
  world.one<{ payload: { mail: Record<string, string>; settled?: string } }>('select payload from outbox where id = ?', [outboxId]);
const memberOf = () => {
  const { organizationId, workspaceId } = world.tenant;
  return makeUser(world.database.db, world.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId });
};

test('a forgotten password: the mail names the operation and a token whose digest alone is stored, good for 30 minutes', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });

  expect(await world.deliver(outboxId)).toBe('sent');

  const [text = ''] = mailsTo(user.email);
  const [challenge] = (await challengesOf(user.id))?.all ?? [];
  expect(text).toContain(`POST ${publicUrl}/auth/password/reset`);
  expect(challenge).toMatchObject({
    id: outboxId,
    organization_id: world.tenant.organizationId,
    minutes: 30,
    token_hash: tokenHash(tokenIn(text)).toString('hex'),
  });
  expect(await stored(outboxId)).toEqual({ payload: expect.objectContaining({ settled: 'sent', mail: { template: 'password_reset' } }) });
});

test('a mail that was delivered is not sent again, however often its delivery is run', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });

  expect([await world.deliver(outboxId), await world.deliver(outboxId), await world.deliver(outboxId)]).toEqual(['sent', 'sent', 'sent']);
  expect(mailsTo(user.email)).toHaveLength(1);
});

test('each try of a mail is counted by how it ended', async () => {
  const tries = (result: string) => valueOf(world.metrics.all, 'longhaul_mail_tries_total', { result });
  const before = [await tries('sent'), await tries('failed'), await tries('refused')];
  const queued = async () => world.queue({ template: 'password_reset', email: (await memberOf()).email });
  const [later, never] = [await queued(), await queued()];

  world.server.refuse = { stage: 'recipient', code: 451 };
  await expect(world.deliver(later.outboxId)).rejects.toThrow();
  world.server.refuse = { stage: 'recipient', code: 550 };
  await world.deliver(never.outboxId);
  world.server.refuse = null;
  await world.deliver(later.outboxId);

  expect([await tries('sent'), await tries('failed'), await tries('refused')].map((now, index) => now - (before[index] ?? 0))).toEqual([
    1, 1, 1,
  ]);
});

test('an address of nobody, of an inactive or a deleted user gets no mail, and is forgotten', async () => {
  const [inactive, deleted] = [await memberOf(), await memberOf()];
  await world.write('update users set is_active = false where id = ?', [inactive.id]);
  await world.write('update users set deleted_at = now(), is_active = false where id = ?', [deleted.id]);
  const before = world.server.mails.length;

  for (const email of ['nobody@example.test', inactive.email, deleted.email]) {
    const { outboxId } = await world.queue({ template: 'password_reset', email });
    expect(await world.deliver(outboxId)).toBe('void');
    expect(JSON.stringify(await stored(outboxId))).not.toContain(email);
  }
  expect(world.server.mails).toHaveLength(before);
});

test('only the newest request counts: an older token dies, and one that is late is never made', async () => {
  const user = await memberOf();
  const [first, second, third] = [
    await world.queue({ template: 'password_reset', email: user.email }),
    await world.queue({ template: 'password_reset', email: user.email }),
    await world.queue({ template: 'password_reset', email: user.email }),
  ];

  const results = [await world.deliver(first.outboxId), await world.deliver(third.outboxId), await world.deliver(second.outboxId)];

  expect(results).toEqual(['sent', 'sent', 'void']);
  expect((await challengesOf(user.id))?.all.map(({ id }) => id)).toEqual([third.outboxId]);
});

test('requests that are worked on at once leave one token', async () => {
  const user = await memberOf();
  const ask = () => world.queue({ template: 'password_reset', email: user.email });
  const mails = [await ask(), await ask(), await ask(), await ask()];

  await Promise.all(mails.map(({ outboxId }) => world.deliver(outboxId)));

  expect((await challengesOf(user.id))?.all.map(({ id }) => id)).toEqual([mails.at(-1)?.outboxId]);
});

test('a later try of a reset sends the same token while it lives and none after its end, also when the row was swept', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });
  world.server.refuse = { stage: 'content', code: 451 };

  await expect(world.deliver(outboxId)).rejects.toMatchObject({ code: 'upstream_failed' });
  const before = await challengesOf(user.id);
  await expect(world.deliver(outboxId)).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(await challengesOf(user.id)).toEqual(before);
  await world.write('delete from auth_challenges where id = ?', [outboxId]);
  world.server.refuse = null;

  expect(await world.deliver(outboxId)).toBe('void');
  expect(await challengesOf(user.id)).toEqual({ all: [] });
  expect(mailsTo(user.email)).toEqual([]);
});

test('a request that waited for more than a day is not answered any more', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });
  await world.write("update outbox set created_at = now() - interval '25 hours' where id = ?", [outboxId]);

  expect(await world.deliver(outboxId)).toBe('expired');
});

test('an operator, who has no organization, can ask, too', async () => {
  const { operator } = world.tenant.users;
  const { outboxId } = await world.queue({ template: 'password_reset', email: operator.email });

  expect(await world.deliver(outboxId)).toBe('sent');
  expect((await challengesOf(operator.id))?.all).toMatchObject([{ id: outboxId, organization_id: null }]);
});

test('first password and confirmation carry the token of the challenge that is there, and nothing without a live one', async () => {
  const user = await memberOf();
  const { organizationId } = world.tenant;
  const set = await world.queue({ template: 'password_set', userId: user.id }, organizationId);
  const confirm = await world.queue({ template: 'email_confirm', userId: user.id, to: 'new@example.test' }, organizationId);
  const over = await world.queue({ template: 'password_set', userId: user.id }, organizationId);
  const none = await world.queue({ template: 'email_confirm', userId: user.id, to: 'new@example.test' }, organizationId);
  await world.challenge(set, { userId: user.id, purpose: 'password_reset', endsIn: '7 days' });
  await world.challenge(confirm, { userId: user.id, purpose: 'email_confirm', endsIn: '24 hours' });
  await world.challenge(over, { userId: user.id, purpose: 'password_reset', endsIn: '-1 second' });

  const results = [];
  for (const { outboxId } of [set, confirm, over, none]) results.push(await world.deliver(outboxId));

  expect(results).toEqual(['sent', 'sent', 'expired', 'void']);
  expect(tokenHash(tokenIn(mailsTo(user.email)[0]))).toEqual(set.tokenHash);
  expect(tokenHash(tokenIn(mailsTo('new@example.test')[0]))).toEqual(confirm.tokenHash);
  expect(mailsTo('new@example.test')[0]).toContain(`POST ${publicUrl}/auth/email/confirm`);
});

test('an invitation is mailed once, counted and written to the audit log', async () => {
  const [id, email] = [newId(), `invited-${newId()}@example.test`];
  const mail = await world.queue({ template: 'invitation', invitationId: id }, world.tenant.organizationId);
  await world.invite(mail, { id, email, endsIn: '7 days' });

  expect([await world.deliver(mail.outboxId), await world.deliver(mail.outboxId)]).toEqual(['sent', 'sent']);

  const row = await world.one('select sent_at is not null as is_sent, send_count, version from invitations where id = ?', [id]);
  const audits = await world.one('select count(*)::int as n, min(actor_kind) as by from audit_entries where resource_id = ?', [id]);
  expect([row, audits]).toEqual([
    { is_sent: true, send_count: 1, version: 2 },
    { n: 1, by: 'system' },
  ]);
  expect(tokenHash(tokenIn(mailsTo(email)[0]))).toEqual(mail.tokenHash);
  expect(mailsTo(email)[0]).toContain(`POST ${publicUrl}/invitations/accept`);
});

test('a mail server that refuses an invitation for good leaves it unsent; a replaced, accepted or ended one is not mailed', async () => {
  const invite = async (endsIn = '7 days') => {
    const [id, email] = [newId(), `invited-${newId()}@example.test`];
    const mail = await world.queue({ template: 'invitation', invitationId: id }, world.tenant.organizationId);
    await world.invite(mail, { id, email, endsIn });
    return { id, email, outboxId: mail.outboxId };
  };
  const [refused, replaced, accepted, over] = [await invite(), await invite(), await invite(), await invite('-1 minute')];
  await world.write("update invitations set token_hash = 'other' where id = ?", [replaced.id]);
  await world.write("update invitations set status = 'accepted' where id = ?", [accepted.id]);

  world.server.refuse = { stage: 'recipient', code: 550 };
  expect(await world.deliver(refused.outboxId)).toBe('refused');
  world.server.refuse = null;
  const others = [await world.deliver(replaced.outboxId), await world.deliver(accepted.outboxId), await world.deliver(over.outboxId)];

  expect(others).toEqual(['void', 'void', 'expired']);
  expect(await world.one('select sent_at, send_count from invitations where id = ?', [refused.id])).toEqual({
    sent_at: null,
    send_count: 0,
  });
  expect([replaced, accepted, over].flatMap(({ email }) => mailsTo(email))).toEqual([]);
});

test('notices go to the address of the user, that of a change of address to the old one', async () => {
  const user = await memberOf();
  const templates = [
    'refresh_reuse',
    'password_changed',
    'factor_added',
    'factor_removed',
    'recovery_codes_replaced',
    'recovery_codes_used_up',
  ] as const;

  for (const template of templates) {
    const { outboxId } = await world.queue({ template, userId: user.id }, world.tenant.organizationId);
    expect(await world.deliver(outboxId)).toBe('sent');
  }
  const change = await world.queue(
    { template: 'email_change_notice', userId: user.id, to: 'old@example.test' },
    world.tenant.organizationId,
  );
  expect(await world.deliver(change.outboxId)).toBe('sent');

  expect(mailsTo(user.email)).toHaveLength(templates.length);
  expect(mailsTo('old@example.test')).toHaveLength(1);
});

test('with pages of its own the deployment mails links with the token behind the #, where no server sees it', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });

  await world.deliver(outboxId, { linkUrl: 'https://app.example/account' });

  const [text = ''] = mailsTo(user.email);
  expect(text).toContain(`https://app.example/account/password-reset#token=${tokenIn(text)}`);
  expect(text).not.toContain('POST ');
});

test('names in a mail are text: an organization that is called like markup does nothing in HTML', async () => {
  const [id, email] = [newId(), `invited-${newId()}@example.test`];
  await world.write('update organizations set name = ? where id = ?', [
    '<a href=//evil>Acme\n\nSend your password to\u2028Send your keys to',
    world.tenant.organizationId,
  ]);
  const mail = await world.queue({ template: 'invitation', invitationId: id }, world.tenant.organizationId);
  await world.invite(mail, { id, email, endsIn: '7 days' });

  await world.deliver(mail.outboxId);

  const html = String(world.server.mails.at(-1)?.html);
  expect(html).toContain('&lt;a href=//evil&gt;Acme');
  expect(html).not.toContain('<a ');
  expect(world.server.mails.at(-1)?.text).not.toMatch(/^\s*Send your/m);
});

test('a token is derived under the key that its row names; a key that is gone is a fault, and another one makes no other link', async () => {
  const user = await memberOf();
  const { outboxId } = await world.queue({ template: 'password_reset', email: user.email });
  const newer = randomKeyRing();

  await expect(world.deliver(outboxId, { keys: newer })).rejects.toThrow('LONGHAUL_MAIL_KEYS');
  const both = { ...world.keys, mailKeys: [...newer.mailKeys, ...world.keys.mailKeys] as const };
  expect(await world.deliver(outboxId, { keys: both })).toBe('sent');

  const [challenge] = (await challengesOf(user.id))?.all ?? [];
  expect(tokenHash(tokenIn(mailsTo(user.email)[0])).toString('hex')).toBe(challenge?.token_hash);
});

test('without a mailer notices go unsaid, and what the API let through waits for one', async () => {
  const user = await memberOf();
  const { organizationId } = world.tenant;
  const notice = await world.queue({ template: 'password_changed', userId: user.id }, organizationId);
  const first = await world.queue({ template: 'password_set', userId: user.id }, organizationId);
  await world.challenge(first, { userId: user.id, purpose: 'password_reset', endsIn: '7 days' });

  expect(await world.deliver(notice.outboxId, { hasMailer: false })).toBe('no_mailer');
  await expect(world.deliver(first.outboxId, { hasMailer: false })).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(await world.deliver(first.outboxId)).toBe('sent');
});

test('no log line holds an address or a token', () => {
  const lines = world.log.join('');

  expect(world.log.length).toBeGreaterThan(10);
  expect(lines).not.toMatch(/@|lh_ml_/);
});

test("a mail's row stays while its delivery may still try, a settled one for a day", async () => {
  const open = await world.queue({ template: 'password_reset', email: 'nobody@example.test' });
  const settled = await world.queue({ template: 'password_reset', email: 'nobody@example.test' });
  const old = await world.queue({ template: 'password_reset', email: 'nobody@example.test' });
  await world.deliver(settled.outboxId);
  const ids = [open, settled, old].map(({ outboxId }) => outboxId);
  await world.write("update outbox set sent_at = now() - interval '25 hours' where id = any(?::uuid[])", [ids]);
  await world.write("update outbox set sent_at = now() - interval '8 days' where id = ?", [old.outboxId]);

  await sweep(world.database.db, (em) => sweepOutbox(em, 1000));

  expect([await stored(open.outboxId), await stored(settled.outboxId), await stored(old.outboxId)]).toEqual([
    expect.anything(),
    null,
    null,
  ]);
});
