import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { openWorld, type World } from '../world.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { deliver, kinds, makeChannel, messageOf, signingSecret } from './channel-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

test('a channel is made, read, listed, changed and deleted; no secret is ever shown', async () => {
  const scene = await makeChannel(world, 'webhook', { name: 'Desk', persona_slug: null });
  const { tenant, id } = scene;

  const read = await world.call(tenant.tokens.viewer, 'GET', `/channels/${id}`);
  const listed = await world.call(tenant.tokens.viewer, 'GET', '/channels?kind=webhook');
  const others = await world.call(tenant.tokens.viewer, 'GET', '/channels?kind=slack');
  const changed = await world.call(tenant.tokens.admin, 'PATCH', `/channels/${id}`, {
    body: { name: 'Help desk', allowed_senders: ['u-1'], on_busy: 'steer' },
    headers: { 'if-match': read.headers['etag'] ?? '' },
  });
  const stale = await world.call(tenant.tokens.admin, 'PATCH', `/channels/${id}`, {
    body: { name: 'Late' },
    headers: { 'if-match': read.headers['etag'] ?? '' },
  });
  const removed = await world.call(tenant.tokens.admin, 'DELETE', `/channels/${id}`);
  const gone = await world.call(tenant.tokens.viewer, 'GET', `/channels/${id}`);

  expect(scene.view).toMatchObject({
    kind: 'webhook',
    name: 'Desk',
    inbound_url: expect.stringMatching(new RegExp(`^https?://.*/channels/${id}/inbound$`)),
    secret_names: ['signing_secret'],
    on_busy: 'enqueue',
    session_scope: 'thread',
    reply_to: 'mentions',
    allowed_senders: [],
    streaming: true,
    feedback_buttons: false,
    is_active: true,
    state: 'pending',
    last_error: null,
    last_inbound_at: null,
  });
  expect([read.body, listed.body.items, others.body.items]).toEqual([scene.view, [scene.view], []]);
  expect(changed.body).toMatchObject({ name: 'Help desk', allowed_senders: ['u-1'], on_busy: 'steer' });
  expect([stale.status, removed.status, gone.status]).toEqual([412, 204, 404]);
  const [row] = await sql<{ secrets_enc: unknown; text: string }>('select secrets_enc, c::text as text from channels c where id = ?', [id]);
  expect([row?.secrets_enc, row?.text.includes(signingSecret)]).toEqual([null, false]);
});

test.each([
  ['a kind that there is not', { kind: 'fax' }, '/kind', 'enum'],
  [
    'a setting that its kind has not',
    { settings: { outbound_url: 'https://a.test/', other: 1 } },
    '/settings/other',
    'additionalProperties',
  ],
  ['a missing setting', { settings: {} }, '/settings/outbound_url', 'required'],
  ['an address that the guard refuses', { settings: { outbound_url: 'http://127.0.0.1/x' } }, '/settings/outbound_url', 'egress'],
  ['a missing secret', { secrets: {} }, '/secrets/signing_secret', 'required'],
  ['a short secret', { secrets: { signing_secret: 'short' } }, '/secrets/signing_secret', 'minLength'],
  [
    'a secret that its kind has not',
    { secrets: { ...kinds.webhook.secrets, bot_token: 'x' } },
    '/secrets/bot_token',
    'additionalProperties',
  ],
  ['a name that is too long', { name: 'x'.repeat(121) }, '/name', 'maxLength'],
  ['an agent of nobody', { agent_id: newId() }, '/agent_id', 'reference'],
  ['a wrong type', { streaming: 'yes' }, '/streaming', 'type'],
])('%s is refused', async (_what, wrong, pointer, rule) => {
  const tenant = await world.tenant();
  const { agentId } = await makeChannel(world, 'slack', {}, tenant);

  const body = { kind: 'webhook', name: 'Desk', agent_id: agentId, ...kinds.webhook, ...wrong };
  const refused = await world.call(tenant.tokens.admin, 'POST', '/channels', { body });

  expect([refused.status, refused.body.errors[0]]).toEqual([422, expect.objectContaining({ pointer, rule })]);
});

test('another tenant’s agent and channel are those of nobody; a member changes nothing', async () => {
  const [own, other] = await Promise.all([makeChannel(world, 'webhook'), makeChannel(world, 'webhook')]);

  const foreign = await world.call(own.tenant.tokens.admin, 'POST', '/channels', {
    body: { kind: 'webhook', name: 'x', agent_id: other.agentId, ...kinds.webhook },
  });
  const unseen = await world.call(own.tenant.tokens.admin, 'GET', `/channels/${other.id}`);
  const below = await world.call(own.tenant.tokens.member, 'PATCH', `/channels/${own.id}`, { body: { name: 'x' } });

  expect([foreign.status, unseen.status, below.status]).toEqual([422, 404, 403]);
});

test('secrets are replaced one by one; a required one can not be removed', async () => {
  const { tenant, id } = await makeChannel(world, 'slack');
  const change = (secrets: object) => world.call(tenant.tokens.admin, 'PATCH', `/channels/${id}`, { body: { secrets } });

  const replaced = await change({ bot_token: 'xoxb-other' });
  const removed = await change({ signing_secret: null });

  expect([replaced.status, replaced.body.secret_names]).toEqual([200, ['bot_token', 'signing_secret']]);
  expect([removed.status, removed.body.errors[0].pointer]).toEqual([422, '/secrets/signing_secret']);
});

test('a workspace has at most 50 channels, also when two are made at once', async () => {
  const { tenant, agentId, id } = await makeChannel(world, 'webhook');
  await sql(
    `insert into channels (id, organization_id, workspace_id, agent_id, kind, name, settings)
     select gen_random_uuid(), organization_id, workspace_id, agent_id, kind, 'copy', settings from channels, generate_series(1, 48) where id = ?`,
    [id],
  );

  const body = { kind: 'webhook', name: 'Last', agent_id: agentId, ...kinds.webhook };
  const both = await Promise.all([1, 2].map(() => world.call(tenant.tokens.admin, 'POST', '/channels', { body })));

  const full = both.find(({ status }) => status === 409);
  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(full?.body).toMatchObject({ code: 'state_conflict', context: { reason: 'limit_reached' } });
});

test('a key makes one channel', async () => {
  const { tenant, agentId } = await makeChannel(world, 'slack');
  const body = { kind: 'webhook', name: 'Once', agent_id: agentId, ...kinds.webhook };

  const both = [1, 2].map(() => world.call(tenant.tokens.admin, 'POST', '/channels', { body, headers: { 'idempotency-key': 'once' } }));
  const [first, again] = [await both[0], await both[1]];

  expect(new Set([first?.status, again?.status]).has(201)).toBe(true);
  expect(await sql("select id from channels where workspace_id = ? and name = 'Once'", [tenant.workspaceId])).toHaveLength(1);
});

test('a deleted or inactive channel takes nothing from the commit on; its agent’s end does the same', async () => {
  const [deleted, inactive, agentless] = [
    await makeChannel(world, 'webhook'),
    await makeChannel(world, 'webhook'),
    await makeChannel(world, 'webhook'),
  ];
  await world.call(deleted.tenant.tokens.admin, 'DELETE', `/channels/${deleted.id}`);
  await world.call(inactive.tenant.tokens.admin, 'PATCH', `/channels/${inactive.id}`, { body: { is_active: false } });
  await world.call(agentless.tenant.tokens.admin, 'DELETE', `/agents/${agentless.agentId}`);

  const answers = [];
  for (const scene of [deleted, inactive, agentless]) answers.push((await deliver(world, scene, messageOf('webhook', 'Hello'))).status);

  expect(answers).toEqual([404, 404, 200]);
  const runs = await sql('select id from runs where trigger_id = any (?::uuid[])', [[deleted.id, inactive.id, agentless.id]]);
  expect(runs).toEqual([]);
  const [kept] = await sql<{ status: string; reason: string }>('select status, reason from channel_messages where channel_id = ?', [
    agentless.id,
  ]);
  expect(kept?.status).toBe('failed');
});
