import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { answer, openNoticeWorld, type NoticeTenant, type NoticeWorld } from './delivery-world.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
let world: NoticeWorld;

beforeAll(async () => {
  world = await openNoticeWorld();
});
afterAll(() => world?.close());
beforeEach(() => {
  world.receiver.answers = [];
  world.receiver.received.length = 0;
  world.mail.refuse = null;
});

const urlOf = (path = '/hook') => `http://127.0.0.1:${world.receiver.port}${path}`;

async function webhook(path?: string) {
  const tenant = await world.tenant();
  await tenant.secret('hook', secret);
  const fired = await tenant.fire([{ kind: 'webhook', url: urlOf(path), secret_name: 'hook' }]);
  return { tenant, ...fired, deliveryId: fired.deliveryIds[0] ?? '' };
}

async function slack() {
  const tenant = await world.tenant();
  await tenant.secret('slack', urlOf('/services/T0/B0/s3cret'));
  const { deliveryIds } = await tenant.fire([{ kind: 'slack', secret_name: 'slack' }]);
  return { tenant, deliveryId: deliveryIds[0] ?? '' };
}

async function mailed() {
  const tenant = await world.tenant();
  const { deliveryIds } = await tenant.fire([{ kind: 'user', user_id: tenant.users.admin.id }]);
  return { tenant, deliveryId: deliveryIds[0] ?? '', to: tenant.users.admin.email };
}

const tryAgain = async (tenant: NoticeTenant, id: string) => {
  await tenant.makeDue(id);
  return tenant.attempt(id);
};

test('a webhook gets type, time and the alert, signed so that a foreign library verifies it', async () => {
  const { tenant, deliveryId, alertId } = await webhook();

  expect(await tenant.attempt(deliveryId)).toEqual({ isOver: true });

  const [received] = world.receiver.received;
  const sent = new Webhook(secret).verify(received?.body ?? '', received?.headers as Record<string, string>);
  expect(sent).toMatchObject({
    id: deliveryId,
    type: 'alert.firing',
    data: { id: alertId, status: 'firing', severity: 'critical', value: '30.00' },
  });
  expect(Object.keys(sent as object)).toEqual(['id', 'type', 'created_at', 'data']);
  expect(received?.headers['webhook-id']).toBe(deliveryId);
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'sent', attempts: 1, last_status: 200, last_error: null });
});

test('a receiver that fails twice gets it once more, under one webhook-id and with one body', async () => {
  const { tenant, deliveryId } = await webhook();
  world.receiver.answers = [answer(500), answer(503), answer(200)];

  const first = await tenant.attempt(deliveryId);
  expect(first).toMatchObject({ isOver: false });
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'failed', attempts: 1, last_status: 500, last_error: 'HTTP 500' });
  // Not due yet: nothing is sent, and the workflow waits on.
  expect(await tenant.attempt(deliveryId)).toMatchObject({ isOver: false });
  const steps = [await tryAgain(tenant, deliveryId), await tryAgain(tenant, deliveryId), await tenant.attempt(deliveryId)];

  expect(steps.map(({ isOver }) => isOver)).toEqual([false, true, true]);
  expect(world.receiver.received).toHaveLength(3);
  expect(new Set(world.receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([deliveryId]));
  expect(new Set(world.receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'sent', attempts: 3 });
});

test('after six tries it is dead, and stands there with what went wrong', async () => {
  const { tenant, deliveryId } = await webhook();
  world.receiver.answers = [answer(502)];
  for (let at = 0; at < 8; at += 1) await tryAgain(tenant, deliveryId);

  expect(world.receiver.received).toHaveLength(6);
  expect(await tenant.delivery(deliveryId)).toMatchObject({
    status: 'dead',
    attempts: 6,
    last_status: 502,
    last_error: 'HTTP 502',
    in_s: null,
  });
});

test.each([400, 401, 404, 410])('HTTP %i is dead at once', async (status) => {
  const { tenant, deliveryId } = await webhook();
  world.receiver.answers = [answer(status, 'no: reader@example.test')];

  expect(await tenant.attempt(deliveryId)).toEqual({ isOver: true });
  expect(await tenant.delivery(deliveryId)).toEqual({
    status: 'dead',
    attempts: 1,
    last_status: status,
    last_error: `HTTP ${status}`,
    in_s: null,
  });
});

test('Retry-After is honoured; a redirect is not followed and tried again', async () => {
  const [limited, moved] = [await webhook(), await webhook()];
  world.receiver.answers = [answer(429, '', { 'retry-after': '120' }), answer(302, '', { location: urlOf('/elsewhere') })];

  await limited.tenant.attempt(limited.deliveryId);
  await moved.tenant.attempt(moved.deliveryId);

  const [first, second] = [await limited.tenant.delivery(limited.deliveryId), await moved.tenant.delivery(moved.deliveryId)];
  expect(first).toMatchObject({ status: 'failed', last_status: 429 });
  expect(first?.in_s).toBeGreaterThan(110);
  expect(second).toMatchObject({ status: 'failed', last_status: 302 });
  expect(world.receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook']);
});

// Shapes as Slack documents them: https://api.slack.com/messaging/webhooks#handling_errors and https://api.slack.com/apis/rate-limits.
test.each<[string, number, string, Record<string, string>, string]>([
  ['ok', 200, 'ok', {}, 'sent'],
  ['invalid_payload', 400, 'invalid_payload', {}, 'dead'],
  ['action_prohibited', 403, 'action_prohibited', {}, 'dead'],
  ['no_service', 404, 'no_service', {}, 'dead'],
  ['channel_is_archived', 410, 'channel_is_archived', {}, 'dead'],
  ['rate limited', 429, '{"ok":false,"error":"rate_limited"}', { 'retry-after': '30', 'content-type': 'application/json' }, 'failed'],
  ['rollup_error', 500, 'rollup_error', {}, 'failed'],
])('Slack answers %s', async (_name, status, body, headers, expected) => {
  const { tenant, deliveryId } = await slack();
  world.receiver.answers = [answer(status, body, headers)];

  await tenant.attempt(deliveryId);

  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: expected, attempts: 1, last_status: status });
  const [sent] = world.receiver.received;
  expect(sent?.path).toBe('/services/T0/B0/s3cret');
  expect(JSON.parse(sent?.body ?? '{}')).toEqual({ text: expect.stringContaining('*Critical*: Too much') });
});

test('a mail carries the delivery’s id, and goes again under it while the server asks to come back', async () => {
  const { tenant, deliveryId, to } = await mailed();
  world.mail.refuse = { stage: 'content', code: 451 };
  expect(await tenant.attempt(deliveryId)).toMatchObject({ isOver: false });
  world.mail.refuse = null;
  expect(await tryAgain(tenant, deliveryId)).toEqual({ isOver: true });

  const mails = world.mail.mails.filter(({ messageId }) => messageId?.includes(deliveryId));
  expect(mails).toHaveLength(1);
  expect(mails[0]?.subject).toBe('[Longhaul] Critical: Too much');
  // Who reads it may see many workspaces.
  const [workspace] = await tenant.sql<{ name: string }>(
    'select w.name from alert_deliveries d join workspaces w on w.id = d.workspace_id where d.id = ?',
    [deliveryId],
  );
  expect(mails[0]?.text).toMatch(new RegExp(`^Workspace: ${workspace?.name}$`, 'm'));
  expect(JSON.stringify(mails[0]?.to)).toContain(to);
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'sent', attempts: 2 });
});

test('a mail that is refused for good, or that nobody can send, is dead', async () => {
  const [refused, unsent] = [await mailed(), await mailed()];
  world.mail.refuse = { stage: 'recipient', code: 550 };

  await refused.tenant.attempt(refused.deliveryId);
  await unsent.tenant.attempt(unsent.deliveryId, { mail: null });

  expect(await refused.tenant.delivery(refused.deliveryId)).toMatchObject({ status: 'dead', last_status: 550 });
  expect(await unsent.tenant.delivery(unsent.deliveryId)).toMatchObject({ status: 'dead', last_error: 'this deployment sends no mail' });
});

test('a user who has left, and a rule that was paused, get nothing more', async () => {
  const [left, paused] = [await mailed(), await webhook()];
  await left.tenant.sql('update users set is_active = false where id = ? returning id', [left.tenant.users.admin.id]);
  await paused.tenant.sql('update alert_rules set is_active = false where id = ? returning id', [paused.ruleId]);

  await left.tenant.attempt(left.deliveryId);
  await paused.tenant.attempt(paused.deliveryId);

  expect(await left.tenant.delivery(left.deliveryId)).toMatchObject({ status: 'dead', last_error: expect.stringContaining('user') });
  expect(await paused.tenant.delivery(paused.deliveryId)).toMatchObject({ status: 'dead', last_error: expect.stringContaining('paused') });
  expect(world.receiver.received).toEqual([]);
});

test('a target that is not public is refused for who has not opened it, and named by no address; an opened one works for its organization alone', async () => {
  const { tenant, deliveryId } = await webhook();
  await tenant.sql("update organization_settings set egress_allowlist = '[]' where organization_id = ? returning organization_id", [
    tenant.organizationId,
  ]);

  await tenant.attempt(deliveryId);
  const other = await webhook();
  await other.tenant.attempt(other.deliveryId);

  const refused = await tenant.delivery(deliveryId);
  expect(refused).toMatchObject({ status: 'failed', last_status: null, last_error: expect.stringMatching(/^egress_refused/) });
  expect(refused?.last_error).not.toContain('127.0.0.1');
  expect(await other.tenant.delivery(other.deliveryId)).toMatchObject({ status: 'sent' });
});

test('a receiver that takes longer than 15 seconds is tried again', async () => {
  const { tenant, deliveryId } = await webhook();
  // What the client throws when the signal of the try has run out.
  const fetch = ({ signal }: { readonly signal: AbortSignal }) =>
    Promise.reject(signal.aborted ? signal.reason : new DOMException('The operation was aborted due to timeout', 'TimeoutError'));

  await tenant.attempt(deliveryId, { egress: { fetch, open: fetch, connect: fetch, close: async () => undefined } });

  expect(await tenant.delivery(deliveryId)).toMatchObject({
    status: 'failed',
    last_status: null,
    last_error: 'no answer within 15 seconds',
  });
});

test('a receiver has taken what its head says it has, whatever becomes of the body: one that drips, never ends or breaks is sent once', async () => {
  const drip = (response: ServerResponse) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 50);
    response.on('close', () => clearInterval(timer));
  };
  const endless = (response: ServerResponse) => {
    const pour = (): void => void (response.write(Buffer.alloc(65_536)) ? setImmediate(pour) : response.once('drain', pour));
    response.writeHead(200);
    pour();
  };
  const broken = (response: ServerResponse) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
  const cut = (response: ServerResponse) => void response.writeHead(200, { 'content-length': '100' }).write('1', () => response.destroy());

  for (const way of [drip, endless, broken, cut]) {
    const { tenant, deliveryId } = await webhook();
    world.receiver.answers = [way];
    await tenant.attempt(deliveryId);
    expect([way.name, await tenant.delivery(deliveryId)]).toEqual([way.name, expect.objectContaining({ status: 'sent', attempts: 1 })]);
  }
  world.receiver.answers = [];
});

test('a receiver that hangs up is tried again; a secret that lost its value is, too', async () => {
  const [cut, bare] = [await webhook(), await webhook()];
  world.receiver.answers = [(response) => response.destroy()];
  await bare.tenant.sql("delete from secrets where organization_id = ? and name = 'hook' returning id", [bare.tenant.organizationId]);

  await cut.tenant.attempt(cut.deliveryId);
  await bare.tenant.attempt(bare.deliveryId);

  expect(await cut.tenant.delivery(cut.deliveryId)).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('did not answer'),
  });
  expect(await bare.tenant.delivery(bare.deliveryId)).toMatchObject({ status: 'failed', last_error: 'the secret has no value' });
});

test('neither log, row nor body holds a secret', async () => {
  const [hook, channel] = [await webhook(), await slack()];
  await hook.tenant.attempt(hook.deliveryId);
  await channel.tenant.attempt(channel.deliveryId);

  const stored = [
    ...(await hook.tenant.sql('select * from alert_deliveries where id = ?', [hook.deliveryId])),
    ...(await channel.tenant.sql('select * from alert_deliveries where id = ?', [channel.deliveryId])),
  ];
  const text = JSON.stringify([world.log, stored, world.receiver.received.map(({ body }) => body)]);
  expect(text).not.toContain(secret.slice(6));
  expect(text).not.toContain('s3cret');
});
