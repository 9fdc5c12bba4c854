import { sign as signGithub } from '@octokit/webhooks-methods';
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { newId } from '../../../db/ids.ts';
import { openWorld, type World } from '../world.ts';
import { deliver, makeHook, send, signed, sqlOf } from './hook-calls.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const runsOf = (endpointId: string) =>
  sql<{ id: string; input: { text: string }; [column: string]: unknown }>('select * from runs where trigger_id = ? order by id', [
    endpointId,
  ]);
const deliveriesOf = async ({ tenant, id }: Awaited<ReturnType<typeof makeHook>>, query = '') =>
  (await world.call(tenant.tokens.member, 'GET', `/webhook-endpoints/${id}/deliveries${query}`)).body.items;

test('a signed delivery starts one run with what its endpoint makes of it', async () => {
  const scene = await makeHook(world, {
    prompt_template: 'Order {{ body.order.id }} by {{ headers["user-agent"] }}{{ body.none.x }}',
    input_template: { order: '{{ body.order }}', note: 'of {{ method }}' },
    session_key_template: '{{ body.order.id }}',
    subject_template: { kind: 'guest', id: '{{ body.by }}' },
  });

  const answer = await deliver(
    world,
    scene,
    { order: { id: 12345678901234567890n.toString(), n: 1 }, by: 'ada' },
    { headers: { 'user-agent': 'shop/1' } },
  );

  const [run, ...more] = await runsOf(scene.id);
  expect([answer.status, answer.headers['cache-control'], more]).toEqual([202, 'no-store', []]);
  expect(answer.body).toEqual({ delivery_id: expect.any(String), run_id: run?.id, event_id: null, deduplicated: false, coalesced: false });
  expect(run).toMatchObject({
    source: 'webhook',
    input: { text: 'Order 12345678901234567890 by shop/1', json: { order: { id: '12345678901234567890', n: 1 }, note: 'of POST' } },
    session_key: `hook:${scene.id}:12345678901234567890`,
    subject_kind: 'guest',
    subject_id: 'ada',
    untrusted: true,
    max_effect: 'write',
    created_by_kind: 'system',
  });
  const [listed] = await deliveriesOf(scene, '?status=started');
  expect(listed).toMatchObject({
    id: answer.body.delivery_id,
    status: 'started',
    verification_form: 'webhook-signature',
    run_id: run?.id,
    response_status: 202,
    error: null,
    body_preview: expect.stringContaining('"by":"ada"'),
    warnings: [{ code: 'missing_value', field: 'prompt_template', message: expect.stringContaining('body.none.x') }],
  });
  expect(JSON.stringify(listed)).not.toContain('v1,');
  expect((await world.call(scene.tenant.tokens.viewer, 'GET', `/webhook-endpoints/${scene.id}`)).body.call_count).toBe(1);
});

test('ten identical deliveries over two processes start one run; nine answers say so', async () => {
  const scene = await makeHook(world);
  const second = await openWorld({ database: world.api.database, redisPrefix: world.api.redisPrefix, keys: world.api.keys });
  try {
    const body = JSON.stringify({ n: 1 });
    const headers = signed(scene.secret, body);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => send(world, scene.path, { body, headers, api: n % 2 === 0 ? world.api : second.api })),
    );

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    expect(answers.filter((answer) => answer.body.deduplicated)).toHaveLength(9);
    expect(new Set(answers.map((answer) => `${answer.body.run_id} ${answer.body.delivery_id}`)).size).toBe(1);
    expect(await runsOf(scene.id)).toHaveLength(1);
    expect((await deliveriesOf(scene)).map((row: { duplicate_count: number }) => row.duplicate_count)).toEqual([9]);
  } finally {
    await second.close();
  }
});

test('a captured request under another unsigned id starts nothing; the same ids in two workspaces never meet', async () => {
  const scene = await makeHook(world, { slug: 'same' });
  const other = await makeHook(world, { slug: 'same' });
  const body = JSON.stringify({ ref: 'main' });
  const github = async ({ secret, path }: typeof scene, id: string) =>
    send(world, path, { body, headers: { 'x-hub-signature-256': await signGithub(secret, body), 'x-github-delivery': id } });

  const answers = [await github(scene, 'd-1'), await github(scene, 'd-1'), await github(scene, 'd-2'), await github(other, 'd-1')];

  expect(answers.map((answer) => answer.body.deduplicated)).toEqual([false, true, true, false]);
  expect([await runsOf(scene.id), await runsOf(other.id)].map((runs) => runs.length)).toEqual([1, 1]);
});

test('after a failure on our side a retry of the sender starts the run', async () => {
  const scene = await makeHook(world);
  const body = JSON.stringify({ n: 1 });
  const headers = signed(scene.secret, body);

  const client = new pg.Client({ connectionString: world.api.database.adminUrl });
  await client.connect();
  await client.query("alter table webhook_deliveries add constraint broken check (status <> 'started') not valid");
  const failed = await send(world, scene.path, { body, headers });
  await client.query('alter table webhook_deliveries drop constraint broken');
  await client.end();
  const retried = await send(world, scene.path, { body, headers });

  expect([failed.status, retried.status, retried.body.deduplicated]).toEqual([500, 202, false]);
  expect(await runsOf(scene.id)).toHaveLength(1);
});

test('what is not verified is 401, leaves a row without content, and fills a bucket of its own', async () => {
  const scene = await makeHook(world, { rate_limit_per_minute: 2 });
  const body = JSON.stringify({ secret: 'content' });
  const wrong = signed(`whsec_${Buffer.alloc(32).toString('base64')}`, body);

  const refused = [await send(world, scene.path, { body }), await send(world, scene.path, { body, headers: wrong })];
  const flood = [];
  for (let n = 0; n < 60; n += 1) flood.push((await send(world, scene.path, { body })).status);
  const good = [await deliver(world, scene, { n: 1 }), await deliver(world, scene, { n: 2 }), await deliver(world, scene, { n: 3 })];

  expect(refused.map(({ status, body: { code } }) => [status, code])).toEqual([
    [401, 'signature_invalid'],
    [401, 'signature_invalid'],
  ]);
  expect([flood[0], flood.at(-1)]).toEqual([401, 429]);
  expect(good.map(({ status }) => status)).toEqual([202, 202, 429]);
  expect(Number(good[2]?.headers['retry-after'])).toBeGreaterThan(0);
  const [row] = await sql<Record<string, unknown>>(
    "select * from webhook_deliveries where endpoint_id = ? and status = 'rejected' limit 1",
    [scene.id],
  );
  expect(row).toMatchObject({ body: null, headers: {}, query: {}, run_id: null, error_code: 'signature_invalid' });
});

test('a right signature of another time is told as stale, to its sender and in the list; a wrong one of that time is not', async () => {
  const scene = await makeHook(world);
  const at = new Date(Date.now() - 900_000);
  const wrong = `whsec_${Buffer.alloc(32).toString('base64')}`;

  const stale = await send(world, scene.path, { body: '{}', headers: signed(scene.secret, '{}', { at }) });
  const forged = await send(world, scene.path, { body: '{}', headers: signed(wrong, '{}', { at }) });
  const listed = await world.call(scene.tenant.tokens.admin, 'GET', `/webhook-endpoints/${scene.id}/deliveries`);

  expect(stale).toMatchObject({ status: 401, body: { code: 'signature_invalid', context: { reason: 'stale' } } });
  expect(forged).toMatchObject({ status: 401, body: { code: 'signature_invalid' } });
  expect(forged.body.context.reason).toBeUndefined();
  expect(listed.body.items.map((row: { error: { reason: string } }) => row.error.reason)).toEqual(['invalid', 'stale']);
});

test('at most 100 rows an hour tell of what was not verified, and then it costs one query', async () => {
  const scene = await makeHook(world);
  await send(world, scene.path, { body: '{}' });
  await sql(
    `insert into webhook_deliveries select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid()))).* from webhook_deliveries d, generate_series(1, 99) n where d.endpoint_id = ? returning id`,
    [scene.id],
  );
  statements.length = 0;

  const refused = await send(world, scene.path, { body: '{}' });

  expect([refused.status, statements.filter((text) => text.includes('webhook') || text.includes('gate_hook')).length]).toEqual([401, 1]);
  expect(await sql('select count(*)::int as n from webhook_deliveries where endpoint_id = ?', [scene.id])).toEqual([{ n: 100 }]);
});

test('a neutral answer says nothing of the proof, and starts nothing', async () => {
  const scene = await makeHook(world, { unverified_ack: true });

  const refused = await send(world, scene.path, { body: '{}', headers: { 'idempotency-key': 'k-1' } });
  const good = await deliver(world, scene, {}, { headers: { 'idempotency-key': 'k-1' } });

  expect([refused.status, refused.body]).toEqual([202, { ...good.body, delivery_id: expect.any(String), run_id: null }]);
  expect(good.body.run_id).toEqual(expect.any(String));
  expect(await runsOf(scene.id)).toHaveLength(1);
});

test('an unknown, deleted, inactive or archived address is one 404; another method is 405', async () => {
  const scene = await makeHook(world);
  const { tokens, workspaceId } = scene.tenant;
  const change = (body: object) => world.call(tokens.admin, 'PATCH', `/webhook-endpoints/${scene.id}`, { body });
  const unknown = [
    await send(world, `/hooks/${newId()}/x`, { body: '{}' }),
    await send(world, `/hooks/${workspaceId}/none`, { body: '{}' }),
  ];
  const get = await send(world, scene.path, { method: 'GET' });
  await change({ is_active: false });
  const inactive = await deliver(world, scene, {});
  await change({ is_active: true });
  await sql('update workspaces set is_active = false where id = ? returning id', [workspaceId]);
  const archived = await deliver(world, scene, {});
  await sql('update workspaces set is_active = true where id = ? returning id', [workspaceId]);
  await world.call(tokens.admin, 'DELETE', `/webhook-endpoints/${scene.id}`);
  const deleted = await deliver(world, scene, {});

  const shapes = [...unknown, inactive, archived, deleted].map(({ status, body: { code, detail, context } }) => ({
    status,
    code,
    detail,
    context,
  }));
  expect(new Set(shapes.map((shape) => JSON.stringify(shape))).size).toBe(1);
  expect([shapes[0]?.status, get.status, get.headers['allow']]).toEqual([404, 405, 'POST, OPTIONS']);
  expect((await send(world, scene.path, { method: 'PUT', body: '{}' })).status).toBe(404);
});

test('GET takes the shared token by header or query, answers 200, and hides the token', async () => {
  const scene = await makeHook(world, {
    http_method: 'GET',
    verification: 'shared_token',
    prompt_template: 'Door {{ query.door }} {{ query.token }}',
  });
  const get = (more: Parameters<typeof send>[2]) => send(world, scene.path, { method: 'GET', ...more });

  const answers = [
    await get({ query: `door=1&token=${encodeURIComponent(scene.secret)}` }),
    await get({ query: 'door=2', headers: { 'x-webhook-token': scene.secret } }),
    await get({ query: 'door=3&token=wrong-token-of-mine' }),
    await get({ query: 'door=4' }),
    await get({ method: 'HEAD', query: `token=${encodeURIComponent(scene.secret)}` }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 401, 405]);
  expect((await runsOf(scene.id)).map(({ input }) => input.text)).toEqual(['Door 1 ', 'Door 2 ']);
  const stored = await sql<{ query: object }>('select d.query from webhook_deliveries d where d.endpoint_id = ?', [scene.id]);
  expect(JSON.stringify(stored)).not.toContain('token');
});

test('ack tells no run; without proof a run may only read', async () => {
  const scene = await makeHook(world, { verification: 'none', response_mode: 'ack' });

  const answer = await send(world, scene.path, { body: 'plain words', headers: { 'content-type': 'text/plain' } });

  expect([answer.status, answer.body.run_id]).toEqual([200, null]);
  expect(await runsOf(scene.id)).toMatchObject([
    { max_effect: 'read', untrusted: true, input: { text: expect.stringMatching(/^<<<\w+\n"plain words"\n/) } },
  ]);
});

test('a sync hook whose run outlives it answers 202 with its place, by GET 200; the run goes on', async () => {
  const post = await makeHook(world, { response_mode: 'sync' });
  const get = await makeHook(world, { response_mode: 'sync', http_method: 'GET', verification: 'shared_token' });

  const [first, second] = await Promise.all([
    deliver(world, post, {}),
    send(world, get.path, { method: 'GET', headers: { 'x-webhook-token': get.secret } }),
  ]);

  expect([first.status, first.headers['location'], first.body.run_status]).toEqual([202, `/runs/${first.body.run_id}`, 'queued']);
  expect([second.status, second.body.run_status]).toEqual([200, 'queued']);
});

const refusedBodies: readonly (readonly [what: string, body: string | Buffer, type: string, status: number, code: string])[] = [
  ['broken JSON', '{"a":', 'application/json', 400, 'malformed_request'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'application/json', 400, 'malformed_request'],
  ['65 levels', '['.repeat(65) + ']'.repeat(65), 'application/json', 422, 'validation_failed'],
  ['another charset', 'a', 'text/plain; charset=iso-8859-1', 415, 'unsupported_media_type'],
  ['a picture', 'a', 'image/png', 415, 'unsupported_media_type'],
  ['over 1 MiB', 'a'.repeat(1_048_577), 'text/plain', 413, 'payload_too_large'],
];

test('a body that can not be read is refused, and starts nothing', async () => {
  const scene = await makeHook(world, { verification: 'none' });
  const answers: unknown[] = [];
  for (const [what, body, type] of refusedBodies) {
    const refused = await send(world, scene.path, { body, headers: { 'content-type': type } });
    answers.push([what, refused.status, refused.body.code]);
  }

  expect(answers).toEqual(refusedBodies.map(([what, , , status, code]) => [what, status, code]));
  expect(await runsOf(scene.id)).toEqual([]);
});

const takenBodies: readonly (readonly [body: string, type: string, value: unknown])[] = [
  ['{"__proto__":{"x":1},"a":{"__proto__":2,"b":1}}', 'application/json', { a: { b: 1 } }],
  ['{"id":12345678901234567890}', 'application/vnd.x+json; charset=utf-8', { id: '12345678901234567890' }],
  ['{"a":"x\\u0000y","b":"\\ud800"}', 'application/json', { a: 'x\uFFFDy', b: '\uFFFD' }],
  ['a=1&b=2&b=3&c=x+y', 'application/x-www-form-urlencoded', { a: '1', b: ['2', '3'], c: 'x y' }],
];

test('a stranger’s body is read without what could reach a prototype, and loses no digit and no letter', async () => {
  const scene = await makeHook(world, { verification: 'none', prompt_template: '{{ body | json }}' });
  const statuses = [];
  for (const [body, type] of takenBodies)
    statuses.push((await send(world, scene.path, { body, headers: { 'content-type': type } })).status);

  expect(statuses).toEqual(takenBodies.map(() => 202));
  expect((await runsOf(scene.id)).map(({ input }) => JSON.parse(input.text))).toEqual(takenBodies.map(([, , value]) => value));
});

test('templates that end at a limit fail the delivery alone, and keep no key; others are served', async () => {
  const scene = await makeHook(world, {
    prompt_template:
      '{{ body.n }}{% if body.hang %}{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}{% endif %}',
  });
  const id = 'msg_limit';

  const [hung, served] = await Promise.all([deliver(world, scene, { n: 1, hang: true }, { id }), deliver(world, scene, { n: 2 })]);
  const again = await deliver(world, scene, { n: 1 }, { id });

  expect([hung.status, hung.body.context.reason, served.status, again.status, again.body.deduplicated]).toEqual([
    422,
    'template_limit',
    202,
    202,
    false,
  ]);
  const [failed] = await deliveriesOf(scene, '?status=failed');
  expect(failed).toMatchObject({ run_id: null, error: { code: 'validation_failed', reason: 'template_limit' }, response_status: 422 });
});

test('a deleted agent, an unknown user and a loop start nothing; an unknown persona is the default with a warning', async () => {
  const scene = await makeHook(world, {
    persona_slug_template: '{{ body.persona }}',
    subject_template: { kind: 'user', id: '{{ body.user }}' },
  });
  const { tokens, users } = scene.tenant;

  const persona = await deliver(world, scene, { persona: 'none', user: users.member.id });
  const user = await deliver(world, scene, { user: newId() }, { id: 'msg_user' });
  const loop = await deliver(world, scene, {}, { headers: { 'x-longhaul-hops': '8' } });
  await world.call(tokens.admin, 'DELETE', `/agents/${scene.agentId}?force=true`);
  const gone = await deliver(world, scene, {});
  const keys = await sql('select delivery_id from delivery_keys where endpoint_id = ?', [scene.id]);

  expect([persona.status, user.status, loop.status, gone.status]).toEqual([202, 409, 409, 409]);
  expect([user, loop, gone].map(({ body }) => body.context.reason)).toEqual(['subject_unknown', 'loop', 'agent_unusable']);
  expect((await deliveriesOf(scene, '?status=started'))[0].warnings).toEqual(
    expect.arrayContaining([expect.objectContaining({ code: 'persona_unknown' })]),
  );
  expect([keys.length, (await runsOf(scene.id)).length, (await deliveriesOf(scene, '?status=failed')).length]).toEqual([1, 1, 2]);
});

test('Slack gets its challenge back, and nothing starts', async () => {
  const scene = await makeHook(world);
  const body = JSON.stringify({ type: 'url_verification', challenge: 'c-1' });
  const at = Math.floor(Date.now() / 1_000);
  const signature = `v0=${createHmac('sha256', scene.secret).update(`v0:${at}:${body}`).digest('hex')}`;

  const answer = await send(world, scene.path, {
    body,
    headers: { 'x-slack-request-timestamp': String(at), 'x-slack-signature': signature },
  });

  expect([answer.status, answer.body, await runsOf(scene.id)]).toEqual([200, 'c-1', []]);
});

test('an Idempotency-Key belongs to its endpoint and comes before the delivery id', async () => {
  const scene = await makeHook(world);
  const headers = { 'idempotency-key': 'order-1' };

  const first = await deliver(world, scene, { n: 1 }, { headers });
  const repeated = await deliver(world, scene, { n: 1 }, { headers });
  const other = await deliver(world, scene, { n: 2 }, { headers });

  expect([repeated.body, repeated.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_mismatch']);
  expect(await runsOf(scene.id)).toHaveLength(1);
});

test('a test tells what the same delivery then does, and leaves no trace', async () => {
  const scene = await makeHook(world, { prompt_template: 'N {{ body.n }}', session_key_template: '{{ body.n }}' });
  const raw = JSON.stringify({ n: 7 });
  const headers = signed(scene.secret, raw);
  const ask = (body: object) => world.call(scene.tenant.tokens.member, 'POST', `/webhook-endpoints/${scene.id}/test`, { body });

  const told = await ask({ raw_body: raw, headers });
  const unsigned = await ask({ body: { n: 7 } });
  const traces = [await runsOf(scene.id), await deliveriesOf(scene)];
  const sent = await send(world, scene.path, { body: raw, headers });
  const repeated = await ask({ raw_body: raw, headers });

  const [run] = await runsOf(scene.id);
  expect(told.body).toMatchObject({
    verification: { form: 'webhook-signature', result: 'valid' },
    prompt: run?.input.text,
    session_key: run?.['session_key'],
    would_start: true,
    refusal: null,
    duplicate_of: null,
  });
  expect(unsigned.body).toMatchObject({
    verification: { result: 'missing' },
    prompt: 'N 7',
    would_start: false,
    refusal: 'signature_invalid',
  });
  expect(traces).toEqual([[], []]);
  expect(repeated.body).toMatchObject({ would_start: false, duplicate_of: sent.body.delivery_id });
});

test('a replay is a new delivery with the endpoint as it is today; what was rejected or is erased can not be', async () => {
  const scene = await makeHook(world, { prompt_template: 'Old {{ body.n }}' });
  const { tokens } = scene.tenant;
  const sent = await deliver(world, scene, { n: 7 });
  await send(world, scene.path, { body: '{}' });
  await world.call(tokens.admin, 'PATCH', `/webhook-endpoints/${scene.id}`, { body: { prompt_template: 'New {{ body.n }}' } });
  const replay = (id: string, headers = {}) =>
    world.call(tokens.member, 'POST', `/webhook-endpoints/${scene.id}/deliveries/${id}/replay`, { headers });
  const [rejected] = await deliveriesOf(scene, '?status=rejected');

  const key = { 'idempotency-key': crypto.randomUUID() };
  const replayed = await replay(sent.body.delivery_id, key);
  const twice = await replay(sent.body.delivery_id, key);
  const ofRejected = await replay(rejected.id);
  await sql('update webhook_deliveries set body = null where id = ? returning id', [sent.body.delivery_id]);
  const ofErased = await replay(sent.body.delivery_id);

  expect(replayed.body).toMatchObject({ status: 'started', replay_of: sent.body.delivery_id, run_id: expect.any(String) });
  expect(twice.body).toEqual(replayed.body);
  expect((await runsOf(scene.id)).map(({ input }) => input.text)).toEqual(['Old 7', 'New 7']);
  expect([ofRejected, ofErased, await replay(newId())].map(({ status, body }) => [status, body.context?.reason])).toEqual([
    [409, 'not_replayable'],
    [409, 'body_erased'],
    [404, undefined],
  ]);
});
