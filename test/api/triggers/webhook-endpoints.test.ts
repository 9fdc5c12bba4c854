import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { tablesHolding } from '../../support/canary.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { deliver, makeHook, send, sqlOf } from './hook-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

test('a new endpoint has the defaults, shows its secret once, and is read as it was made', async () => {
  const { tenant, view, secret, id, agentId } = await makeHook(world, { slug: 'orders' });
  const { viewer } = tenant.tokens;

  const read = await world.call(viewer, 'GET', `/webhook-endpoints/${id}`);
  const listed = await world.call(viewer, 'GET', `/webhook-endpoints?q=RDER&is_active=true&agent_id=${agentId}`);
  const others = await world.call(viewer, 'GET', '/webhook-endpoints?is_active=false');

  const { secret: _, ...shown } = view;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(read.body).toEqual(shown);
  expect(read.headers['etag']).toBe('"1"');
  expect([listed.body.items, others.body.items]).toEqual([[shown], []]);
  expect(shown).toMatchObject({
    slug: 'orders',
    http_method: 'POST',
    verification: 'hmac_sha256',
    secret_set: true,
    rotation_active: false,
    secret_overlap_until: null,
    prompt_template: '{{ body | json | fence }}',
    response_mode: 'async',
    rate_limit_per_minute: 60,
    coalescing: { mode: 'none' },
    unverified_ack: false,
    call_count: 0,
    is_active: true,
  });
});

const contradictions: readonly (readonly [what: string, more: Record<string, unknown>, pointer: string, rule?: string])[] = [
  ['no slug', { slug: undefined }, '/slug'],
  ['a slug with a capital', { slug: 'Orders' }, '/slug'],
  ['a slug of 121', { slug: 'a'.repeat(121) }, '/slug'],
  ['an unknown agent', { agent_id: newId() }, '/agent_id'],
  ['PUT', { http_method: 'PUT' }, '/http_method', 'method_not_mounted'],
  ['GET with a signature', { http_method: 'GET' }, '/verification'],
  ['GET with nothing', { http_method: 'GET', verification: 'none' }, '/verification'],
  [
    'a user on an unproved word',
    { verification: 'none', subject_template: { kind: 'user', id: '{{ body.id }}' } },
    '/subject_template/kind',
  ],
  ['a secret that verifies nothing', { verification: 'none', secret: 'x'.repeat(20) }, '/secret'],
  ['a secret of 15', { secret: 'x'.repeat(15) }, '/secret'],
  ['a secret that is no ASCII', { secret: 'ü'.repeat(20) }, '/secret'],
  ['a template that does not parse', { prompt_template: '{% if %}' }, '/prompt_template'],
  ['an unknown filter', { session_key_template: '{{ body | nothing }}' }, '/session_key_template'],
  ['a removed tag', { persona_slug_template: '{% include "x" %}' }, '/persona_slug_template'],
  ['a template of a leaf that does not parse', { input_template: { a: ['{{ body'] } }, '/input_template'],
  ['an empty prompt', { prompt_template: '' }, '/prompt_template'],
  ['a path that is no pointer', { response_path: 'output.text' }, '/response_path'],
  ['an input 17 levels deep', { input_template: JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) }, '/input_template'],
  ['a rate of 0', { rate_limit_per_minute: 0 }, '/rate_limit_per_minute'],
  ['callback without an address', { response_mode: 'callback' }, '/callback_url', 'required'],
  [
    'callback without a secret',
    { response_mode: 'callback', callback_url: 'https://example.com/', verification: 'none' },
    '/response_mode',
    'enum',
  ],
  ['a callback address inside', { callback_url: 'https://127.0.0.1/done' }, '/callback_url', 'egress'],
  ['a callback address that is none', { callback_url: 'done' }, '/callback_url', 'egress'],
  ['coalescing without a window', { coalescing: { mode: 'debounce' } }, '/coalescing/window_seconds', 'required'],
  ['sync with coalescing', { response_mode: 'sync', coalescing: { mode: 'batch', window_seconds: 1 } }, '/coalescing/mode', 'const'],
  ['a wait of a batch', { coalescing: { mode: 'batch', window_seconds: 1, max_wait_seconds: 2 } }, '/coalescing/max_wait_seconds'],
  [
    'a wait no longer than the window',
    { coalescing: { mode: 'debounce', window_seconds: 5, max_wait_seconds: 5 } },
    '/coalescing/max_wait_seconds',
    'minimum',
  ],
  ['a window of 0', { coalescing: { mode: 'batch', window_seconds: 0 } }, '/coalescing/window_seconds'],
  ['a batch of 501', { coalescing: { mode: 'batch', window_seconds: 1, max_batch: 501 } }, '/coalescing/max_batch'],
  ['a time at no pointer', { coalescing: { mode: 'batch', window_seconds: 1, event_time_path: 'at' } }, '/coalescing/event_time_path'],
  [
    'a key that does not parse',
    { coalescing: { mode: 'batch', window_seconds: 1, key_template: '{{ body' } },
    '/coalescing/key_template',
    'template',
  ],
  [
    'an endpoint of the Git host by GET',
    { event_kind: 'github', http_method: 'GET', verification: 'shared_token' },
    '/http_method',
    'const',
  ],
  ['an endpoint of the Git host by a token', { event_kind: 'github', verification: 'shared_token' }, '/verification', 'const'],
  ['an endpoint of the Git host that waits', { event_kind: 'github', response_mode: 'sync' }, '/response_mode', 'enum'],
  [
    'an endpoint of the Git host that collects',
    { event_kind: 'github', coalescing: { mode: 'batch', window_seconds: 1 } },
    '/coalescing/mode',
    'const',
  ],
  ['an event of the platform', { event_kind: 'run.succeeded' }, '/event_kind', 'reserved'],
  ['an event of seven segments', { event_kind: 'a.b.c.d.e.f.g' }, '/event_kind', 'pattern'],
  ['an event in capitals', { event_kind: 'Order.paid' }, '/event_kind', 'pattern'],
  ['a field that nobody knows', { call_count: 1 }, '/call_count'],
  ['another organization’s workspace', { workspace_id: newId() }, '/workspace_id'],
];

test('what contradicts itself is 422 at its place, and nothing is stored', async () => {
  const { tokens, organizationId } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const told: unknown[] = [];
  for (const [what, more, pointer, rule] of contradictions) {
    const { status, body } = await world.call(tokens.admin, 'POST', '/webhook-endpoints', {
      body: { agent_id: agent.id, slug: 'orders', ...more },
    });
    const found = body.errors?.find(
      (error: { pointer: string; rule: string }) => error.pointer === pointer && error.rule === (rule ?? error.rule),
    );
    if (status !== 422 || !found) told.push([what, status, body.errors]);
  }

  expect(told).toEqual([]);
  expect(await sql('select id from webhook_endpoints where organization_id = ?', [organizationId])).toEqual([]);
});

test('a slug is free once its endpoint is deleted, and taken in no other workspace', async () => {
  const { tenant, id, agentId } = await makeHook(world, { slug: 'twice' });
  const body = { agent_id: agentId, slug: 'twice' };
  const again = () => world.call(tenant.tokens.admin, 'POST', '/webhook-endpoints', { body });

  const taken = await again();
  const elsewhere = await makeHook(world, { slug: 'twice' });
  const deleted = await world.call(tenant.tokens.admin, 'DELETE', `/webhook-endpoints/${id}`);
  const free = await again();

  expect([taken.status, taken.body.code, taken.body.context.field]).toEqual([409, 'already_exists', 'slug']);
  expect([elsewhere.view.slug, deleted.status, free.status]).toEqual(['twice', 204, 201]);
});

test('a change keeps the rest, null is what a new endpoint would have, and an old version changes nothing', async () => {
  const { tenant, id } = await makeHook(world, { prompt_template: 'A: {{ body }}', response_mode: 'ack', session_key_template: 'k' });
  const change = (body: object, headers = {}) => world.call(tenant.tokens.admin, 'PATCH', `/webhook-endpoints/${id}`, { body, headers });

  const changed = await change({ rate_limit_per_minute: 7, is_active: false });
  const nulled = await change({ prompt_template: null, response_mode: null, session_key_template: null, rate_limit_per_minute: null });
  const stale = await change({ is_active: true }, { 'if-match': '"1"' });
  const broken = await change({ prompt_template: '{{' });
  const fixed = await change({ slug: 'other' });

  expect(changed.body).toMatchObject({
    prompt_template: 'A: {{ body }}',
    response_mode: 'ack',
    rate_limit_per_minute: 7,
    is_active: false,
  });
  expect(nulled.body).toMatchObject({
    prompt_template: '{{ body | json | fence }}',
    response_mode: 'async',
    session_key_template: null,
    rate_limit_per_minute: 60,
    is_active: false,
  });
  expect([stale.status, broken.status, fixed.status]).toEqual([412, 422, 422]);
});

test('both secrets count while they overlap, two at most; with 0 the one before fails at once in every process', async () => {
  const scene = await makeHook(world, { slug: 'turning' });
  const rotate = (body: object) => world.call(scene.tenant.tokens.admin, 'POST', `/webhook-endpoints/${scene.id}/rotate-secret`, { body });
  const second = await openWorld({ database: world.api.database, redisPrefix: world.api.redisPrefix, keys: world.api.keys });
  const statusWith = async (secret: string, api = world.api) => (await deliver(world, { ...scene, secret }, { n: 1 }, { api })).status;
  try {
    const first = await rotate({});
    expect(first.body).toMatchObject({ rotation_active: true, secret: expect.stringMatching(/^whsec_/) });
    expect([await statusWith(scene.secret), await statusWith(first.body.secret, second.api)]).toEqual([202, 202]);

    const third = await rotate({ overlap_seconds: 60, secret: 'a secret of our own'.replaceAll(' ', '-') });
    expect([await statusWith(scene.secret), await statusWith(first.body.secret)]).toEqual([401, 202]);
    await sql("update webhook_endpoints set secret_overlap_until = now() - interval '1 second' where id = ?", [scene.id]);
    expect([await statusWith(first.body.secret), third.body.secret]).toEqual([401, 'a-secret-of-our-own']);

    const last = await rotate({ overlap_seconds: 0 });
    expect(last.body).toMatchObject({ rotation_active: false, secret_overlap_until: null });
    const body = JSON.stringify({ n: 2 });
    const own = { 'x-signature-256': signedBare(third.body.secret, body) };
    expect([
      (await send(world, scene.path, { body, headers: own })).status,
      (await send(world, scene.path, { body, headers: own, api: second.api })).status,
      await statusWith(last.body.secret, second.api),
    ]).toEqual([401, 401, 202]);
  } finally {
    await second.close();
  }
});

test('an endpoint that verifies nothing has no secret to rotate', async () => {
  const { tenant, id, secret } = await makeHook(world, { verification: 'none' });

  const refused = await world.call(tenant.tokens.admin, 'POST', `/webhook-endpoints/${id}/rotate-secret`, { body: {} });

  expect(secret).toBeNull();
  expect([refused.status, refused.body.context.reason]).toEqual([409, 'no_secret']);
});

test('no row holds a secret in clear, and none is left once the endpoint is deleted', async () => {
  const given = `canary-${crypto.randomUUID()}`;
  const { tenant, id, agentId } = await makeHook(world, { secret: given });
  const key = { 'idempotency-key': crypto.randomUUID() };
  const made = () =>
    world.call(tenant.tokens.admin, 'POST', '/webhook-endpoints', {
      body: { agent_id: agentId, slug: 'kept', secret: given },
      headers: key,
    });
  const first = await made();
  const repeated = await made();
  await world.call(tenant.tokens.admin, 'POST', `/webhook-endpoints/${id}/rotate-secret`, { body: { secret: given } });

  expect([repeated.body, repeated.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
  expect(await tablesHolding(world.api.database.adminUrl, given)).toEqual([]);
  for (const one of [id, first.body.id]) await world.call(tenant.tokens.admin, 'DELETE', `/webhook-endpoints/${one}`);
  expect(
    await sql('select id from webhook_endpoints where organization_id = ? and secrets_enc is not null', [tenant.organizationId]),
  ).toEqual([]);
  expect((await made()).status).toBe(404);
});

test('a workspace has at most 200 endpoints', async () => {
  const { tenant, id, agentId } = await makeHook(world);
  await sql(
    `insert into webhook_endpoints select (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(), 'slug', 's-' || n))).*
       from webhook_endpoints e, generate_series(1, 199) n where e.id = ? returning id`,
    [id],
  );

  const refused = await world.call(tenant.tokens.admin, 'POST', '/webhook-endpoints', { body: { agent_id: agentId, slug: 'one-more' } });

  expect([refused.status, refused.body.context.reason]).toEqual([409, 'limit_reached']);
});

test('endpoints of other workspaces and organizations are not there', async () => {
  const { id } = await makeHook(world);
  const stranger = await world.tenant();
  const ask = async (method: 'GET' | 'PATCH' | 'DELETE' | 'POST', path: string, body?: object) =>
    (await world.call(stranger.tokens.admin, method, `/webhook-endpoints/${id}${path}`, body === undefined ? {} : { body })).status;

  expect([
    await ask('GET', ''),
    await ask('PATCH', '', { is_active: false }),
    await ask('DELETE', ''),
    await ask('POST', '/rotate-secret', {}),
    await ask('POST', '/test', {}),
    await ask('GET', '/deliveries'),
    await ask('POST', `/deliveries/${newId()}/replay`),
  ]).toEqual(Array.from({ length: 7 }, () => 404));
});

test('roles: viewers read, members look at deliveries and test, admins change', async () => {
  const { tenant, id } = await makeHook(world);
  const { viewer, member } = tenant.tokens;
  const status = async (token: string, method: 'GET' | 'PATCH' | 'POST', path: string, body?: object) =>
    (await world.call(token, method, `/webhook-endpoints/${id}${path}`, body === undefined ? {} : { body })).status;

  expect([await status(viewer, 'GET', ''), await status(viewer, 'GET', '/deliveries'), await status(viewer, 'POST', '/test', {})]).toEqual([
    200, 403, 403,
  ]);
  expect([
    await status(member, 'GET', '/deliveries'),
    await status(member, 'POST', '/test', {}),
    await status(member, 'PATCH', '', {}),
  ]).toEqual([200, 200, 403]);
});

function signedBare(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
