import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../support/api.ts';
import { openWorld, type World } from '../world.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { deliver, kinds, makeChannel, messageOf, post, proofOf, slackSecret, type ChannelScene, type TestKind } from './channel-calls.ts';
import { findChannel, secretsOfFound } from '../../../db/channels/open-channel.ts';

let world: World;
let second: TestApi;

beforeAll(async () => {
  world = await openWorld();
  second = await startApi({ database: world.api.database, keys: world.api.keys, redisPrefix: world.api.redisPrefix });
});
afterAll(async () => {
  await second?.close();
  await world?.close();
});

const allKinds = Object.keys(kinds) as TestKind[];
const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const messagesOf = ({ id }: ChannelScene) =>
  sql<{ status: string; reason: string | null; run_id: string | null; text: string; thread_id: string; sender_id: string; route: object }>(
    'select status, reason, run_id, text, thread_id, sender_id, route from channel_messages where channel_id = ? order by id',
    [id],
  );
const runsOf = ({ id }: ChannelScene) =>
  sql<{
    id: string;
    source: string;
    session_key: string;
    subject_kind: string;
    subject_id: string;
    input: { text: string };
    untrusted: boolean;
    status: string;
  }>('select id, source, session_key, subject_kind, subject_id, input, untrusted, status from runs where trigger_id = ? order by id', [id]);

/** The secret by which a service proves itself; of Telegram it is made and never shown. */
async function secretOf(scene: ChannelScene): Promise<string | undefined> {
  if (scene.kind !== 'telegram') return undefined;
  const found = await findChannel(world.api.db, scene.id);
  return found ? secretsOfFound(found, world.api.keys)['webhook_secret'] : undefined;
}

async function say(scene: ChannelScene, value: unknown, options: Parameters<typeof deliver>[3] = {}) {
  const secret = await secretOf(scene);
  return deliver(world, scene, value, { ...options, ...(secret === undefined ? {} : { secret }) });
}

test.each(allKinds)('a message of %s starts one run, for a guest, in the conversation of its thread', async (kind) => {
  const scene = await makeChannel(world, kind);

  const answer = await say(scene, messageOf(kind, 'Hello there', { sender: '501', thread: '900' }));

  expect([answer.status, answer.body]).toEqual([200, kind === 'discord' ? { type: 5 } : {}]);
  const [run, ...more] = await runsOf(scene);
  expect(more).toEqual([]);
  expect(run).toMatchObject({
    source: 'channel',
    session_key: `channel:${scene.id}:900`,
    subject_kind: 'guest',
    subject_id: `${kind}:501`,
    input: { text: 'Hello there' },
    untrusted: true,
  });
  expect(await messagesOf(scene)).toEqual([expect.objectContaining({ status: 'received', run_id: run?.id, text: 'Hello there' })]);
  const read = await world.call(scene.tenant.tokens.viewer, 'GET', `/channels/${scene.id}`);
  expect(read.body.last_inbound_at).not.toBeNull();
});

test.each(allKinds)('the same message of %s again changes nothing, ten times at once over two API processes', async (kind) => {
  const scene = await makeChannel(world, kind);
  const message = messageOf(kind, 'Only once');
  const api = (n: number) => (n % 2 === 0 ? world.api : second);

  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => say(scene, message, { id: 'msg_same', api: api(n) })));
  // What could not be taken just now (503) is sent again, as services do.
  const last = await say(scene, message, { id: 'msg_same' });

  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  expect(last.status).toBe(200);
  expect(await messagesOf(scene)).toHaveLength(1);
  expect(await runsOf(scene)).toHaveLength(1);
});

test.each(allKinds)('%s: a byte that was changed, another secret, no proof and a stale time are 401, and leave nothing', async (kind) => {
  const scene = await makeChannel(world, kind);
  const body = JSON.stringify(messageOf(kind, 'Hello'));
  const secret = await secretOf(scene);
  const proof = (options: Parameters<typeof proofOf>[2] = {}) =>
    proofOf(kind, body, { ...(secret === undefined ? {} : { secret }), ...options });
  const wrong =
    kind === 'telegram' ? proofOf(kind, body, { secret: 'wrong' }) : proofOf(kind, body, { secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAA' });
  const hasTime = kind !== 'telegram';

  const answers = {
    wrong: (await post(world, scene.path, body, { headers: wrong })).status,
    none: (await post(world, scene.path, body)).status,
    ...(hasTime ? { changed: (await post(world, scene.path, `${body} `, { headers: proof() })).status } : {}),
    ...(hasTime ? { late: (await post(world, scene.path, body, { headers: proof({ at: new Date(Date.now() - 310_000) }) })).status } : {}),
    ...(hasTime ? { early: (await post(world, scene.path, body, { headers: proof({ at: new Date(Date.now() + 400_000) }) })).status } : {}),
    right: (await post(world, scene.path, body, { headers: proof({ at: new Date(Date.now() - (hasTime ? 240_000 : 0)) }) })).status,
  };

  const timed = hasTime ? { changed: 401, late: 401, early: 401 } : {};
  expect(answers).toEqual({ wrong: 401, none: 401, ...timed, right: 200 });
  expect(await messagesOf(scene)).toHaveLength(1);
});

test('the example of Slack’s documentation verifies by our rule', () => {
  // https://api.slack.com/authentication/verifying-requests-from-slack
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const proof = proofOf('slack', body, { at: new Date(1_531_420_618_000), secret: slackSecret });

  expect(proof['x-slack-signature']).toBe('v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503');
});

test('Slack’s challenge and Discord’s ping are answered, and start nothing', async () => {
  const [slack, discord] = [await makeChannel(world, 'slack'), await makeChannel(world, 'discord')];

  const challenge = await say(slack, { type: 'url_verification', challenge: 'abc' });
  const pong = await say(discord, { type: 1 });

  expect([challenge.body, pong.body]).toEqual([{ challenge: 'abc' }, { type: 1 }]);
  expect([...(await messagesOf(slack)), ...(await messagesOf(discord))]).toEqual([]);
});

test('a mention that comes as two events of Slack is one message, answered in its thread', async () => {
  const scene = await makeChannel(world, 'slack');
  const event = {
    channel: 'C9',
    channel_type: 'channel',
    user: 'U1',
    text: '<@UBOT> hi &amp; <https://a.test|link>',
    ts: '1700000000.000100',
  };
  const outer = { type: 'event_callback', team_id: 'T1TEAM', authorizations: [{ user_id: 'UBOT', is_bot: true }] };

  await say(scene, { ...outer, event_id: 'Ev1', event: { ...event, type: 'message' } });
  await say(scene, { ...outer, event_id: 'Ev2', event: { ...event, type: 'app_mention' } });

  expect(await messagesOf(scene)).toEqual([
    expect.objectContaining({
      text: 'hi & link (https://a.test)',
      thread_id: 'C9:1700000000.000100',
      route: { channel: 'C9', thread_ts: '1700000000.000100' },
    }),
  ]);
});

test('what is not for the agent is kept as ignored: own messages, bots, other senders, groups without a mention, empty ones', async () => {
  const scene = await makeChannel(world, 'slack', { allowed_senders: ['U1', 'B-OK'], allowed_bots: ['B1'] });
  const event = (more: object) => ({
    ...messageOf('slack', 'Hello', { thread: 'C5' }),
    event: { ...(messageOf('slack', 'Hello', { thread: 'C5' }) as { event: object }).event, ...more },
  });

  await say(scene, event({ user: 'UBOT' }));
  await say(scene, event({ user: 'B9', bot_id: 'B9' }));
  await say(scene, event({ user: 'U2' }));
  await say(scene, event({ channel_type: 'channel' }));
  await say(scene, event({ text: '  ' }));
  await say(scene, event({ subtype: 'message_deleted' }));
  await say(scene, { type: 'event_callback', event: { type: 'reaction_added' } });

  const reasons = (await messagesOf(scene)).map(({ status, reason }) => `${status} ${reason}`);
  expect(reasons).toEqual(['ignored own_message', 'ignored bot', 'ignored sender_not_allowed', 'ignored not_addressed', 'ignored empty']);
  expect(await runsOf(scene)).toEqual([]);
});

test('a bot that is allowed is answered three times in a row, and again after a person', async () => {
  const scene = await makeChannel(world, 'webhook', { allowed_bots: ['bot-1'] });
  const bot = () => say(scene, { thread_id: 't', user: { id: 'bot-1', is_bot: true }, text: 'beep' });

  for (let n = 0; n < 4; n += 1) await bot();
  await say(scene, { thread_id: 't', user: { id: 'ada' }, text: 'Hello' });
  await bot();

  const reasons = (await messagesOf(scene)).map(({ status, reason }) => reason ?? status);
  expect(reasons).toEqual(['received', 'received', 'received', 'bots_in_a_row', 'received', 'received']);
});

test('50 rapid messages of one sender are 50 rows; what comes while a run waits in line joins it, in order', async () => {
  const scene = await makeChannel(world, 'webhook');
  const texts = Array.from({ length: 50 }, (_, n) => `Message ${n}.`);

  for (const [n, text] of texts.entries()) {
    const api = n % 2 === 0 ? world.api : second;
    let status = 0;
    for (; status !== 200;) ({ status } = await say(scene, { thread_id: 't', user: { id: 'ada' }, text }, { id: `msg_${n}`, api }));
  }

  const messages = await messagesOf(scene);
  const runs = await runsOf(scene);
  expect(messages).toHaveLength(50);
  expect(messages.every(({ status, run_id }) => status === 'received' && run_id !== null)).toBe(true);
  // No worker runs: the first waits for one, the second in line behind it.
  expect(runs.map(({ input }) => input.text)).toEqual([texts[0], texts.slice(1).join('\n\n')]);
});

test('50 messages at once over two API processes lose none and start two runs at most', async () => {
  const scene = await makeChannel(world, 'webhook');
  const insist = async (n: number) => {
    for (let status = 0; status !== 200;)
      ({ status } = await say(
        scene,
        { thread_id: 't', user: { id: 'ada' }, text: `m${n}.` },
        { id: `msg_${n}`, api: n % 2 === 0 ? world.api : second },
      ));
  };

  for (let n = 0; n < 50; n += 10) await Promise.all(Array.from({ length: 10 }, (_, at) => insist(n + at)));

  const runs = await runsOf(scene);
  const said = runs.flatMap(({ input }) => input.text.split('\n\n'));
  expect(runs.length).toBeLessThanOrEqual(2);
  expect(said.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `m${n}.`).toSorted());
});

test('session_scope peer keeps one conversation of a sender over all threads', async () => {
  const scene = await makeChannel(world, 'webhook', { session_scope: 'peer' });

  await say(scene, { thread_id: 'a', user: { id: 'ada' }, text: 'One' });
  await say(scene, { thread_id: 'b', user: { id: 'ada' }, text: 'Two' });

  expect(new Set((await runsOf(scene)).map(({ session_key }) => session_key))).toEqual(new Set([`channel:${scene.id}:peer:ada`]));
});

test('on_busy steer joins the active run instead of waiting', async () => {
  const scene = await makeChannel(world, 'webhook', { on_busy: 'steer' });

  await say(scene, { thread_id: 't', user: { id: 'ada' }, text: 'One' });
  await say(scene, { thread_id: 't', user: { id: 'ada' }, text: 'Two' });

  const runs = await runsOf(scene);
  expect(runs.map(({ input }) => input.text)).toEqual(['One\n\nTwo']);
  expect((await messagesOf(scene)).map(({ run_id }) => run_id)).toEqual([runs[0]?.id, runs[0]?.id]);
});

test('a start that is refused is 200, a failed message and a notice for its sender', async () => {
  const scene = await makeChannel(world, 'webhook');
  await world.call(scene.tenant.tokens.admin, 'PATCH', `/agents/${scene.agentId}`, { body: { is_active: false } });

  const answer = await say(scene, messageOf('webhook', 'Hello'));

  expect(answer.status).toBe(200);
  expect(await messagesOf(scene)).toEqual([expect.objectContaining({ status: 'failed', reason: 'agent_inactive', run_id: null })]);
  const [wake] = await sql<{ n: number }>(
    `select count(*)::int as n from outbox o join channel_messages m on o.target = 'delivery:channel:' || m.id where m.channel_id = ?`,
    [scene.id],
  );
  expect(wake?.n).toBe(1);
});

test('files of a message are attachments that the run waits for', async () => {
  const scene = await makeChannel(world, 'webhook');

  await say(scene, {
    thread_id: 't',
    user: { id: 'ada' },
    text: '',
    attachments: [{ url: 'https://files.example.com/a.pdf', name: 'a.pdf', media_type: 'application/pdf' }],
  });

  const [run] = await runsOf(scene);
  expect(run?.input).toEqual({ attachments: [expect.objectContaining({ name: 'a.pdf', media_type: 'application/pdf' })] });
  const [file] = await sql(
    'select a.state, a.purpose, a.filename from attachments a join attachment_links l on l.attachment_id = a.id where l.owner_id = ?',
    [run?.id],
  );
  expect(file).toEqual({ state: 'scanning', purpose: 'run_input', filename: 'a.pdf' });
});

test.each([
  ['no sender', { text: 'Hi' }, 422, '/user/id'],
  ['no text', { user: { id: 'a' } }, 422, '/text'],
  ['text of another type', { user: { id: 'a' }, text: 5 }, 422, '/text'],
  ['a text over 64 KB', { user: { id: 'a' }, text: 'x'.repeat(65_537) }, 422, '/text'],
  [
    'eleven files',
    { user: { id: 'a' }, text: 'x', attachments: Array.from({ length: 11 }, () => ({ url: 'https://a.test/' })) },
    422,
    '/attachments',
  ],
  ['a file without an address', { user: { id: 'a' }, text: 'x', attachments: [{ url: 'no url' }] }, 422, '/attachments/0/url'],
  ['a thread that is too long', { user: { id: 'a' }, text: 'x', thread_id: 't'.repeat(301) }, 422, '/thread_id'],
  ['a list', [1, 2], 422, '/user/id'],
  ['a text alone', 'hello', 422, '/user/id'],
])('a webhook body with %s is refused and leaves nothing', async (_what, value, status, pointer) => {
  const scene = await makeChannel(world, 'webhook');

  const answer = await say(scene, value);

  expect([answer.status, answer.body.errors[0].pointer]).toEqual([status, pointer]);
  expect(await messagesOf(scene)).toEqual([]);
});

test('hostile bodies: broken JSON, depth, prototypes, U+0000, lone surrogates, other charsets and sizes', async () => {
  const scene = await makeChannel(world, 'webhook');
  const raw = (body: string | Buffer, headers: Record<string, string> = {}) =>
    post(world, scene.path, body, { headers: { ...proofOf('webhook', body.toString()), ...headers } });
  const message = (text: string) => `{"thread_id":"t","user":{"id":"ada"},"text":${text}}`;

  const answers = {
    broken: (await raw('{"text":')).status,
    deep: (await raw('['.repeat(65) + ']'.repeat(65))).status,
    charset: (await raw(message('"x"'), { 'content-type': 'application/json; charset=utf-16' })).status,
    type: (await raw(message('"x"'), { 'content-type': 'image/png' })).status,
    large: (await raw(message(`"${'x'.repeat(1_048_576)}"`))).status,
    prototype: (await raw(`{"__proto__":{"user":{"id":"evil"}},"thread_id":"t","user":{"id":"ada"},"text":"proto"}`)).status,
    texts: (await raw(message('"a\\u0000b\\ud800c"'))).status,
    empty: (await raw('')).status,
  };

  expect(answers).toEqual({ broken: 400, deep: 422, charset: 415, type: 415, large: 413, prototype: 200, texts: 200, empty: 422 });
  expect((await messagesOf(scene)).map(({ text, sender_id }) => [sender_id, text])).toEqual([
    ['ada', 'proto'],
    ['ada', 'a\ufffdb\ufffdc'],
  ]);
});

test.each(['slack', 'telegram', 'discord'] as const)(
  '%s: bodies that are nothing of the service start nothing and are 200',
  async (kind) => {
    const scene = await makeChannel(world, kind);

    const statuses = [];
    for (const value of [
      null,
      1,
      [],
      {},
      { type: 2 },
      { type: 'event_callback', event: { type: 'message', channel: {}, ts: [] } },
      { update_id: 1, message: 'x' },
    ])
      statuses.push((await say(scene, value)).status);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect([await messagesOf(scene), await runsOf(scene)]).toEqual([[], []]);
  },
);

test('a request that came through eight hooks is refused; the run of a seventh keeps count', async () => {
  const scene = await makeChannel(world, 'webhook');

  const looped = await say(scene, messageOf('webhook', 'Loop'), { headers: { 'x-longhaul-hops': '8' } });
  await say(scene, messageOf('webhook', 'Seventh'), { headers: { 'x-longhaul-hops': '7' } });

  expect([looped.status, looped.body.context.reason]).toEqual([409, 'loop']);
  expect(await sql('select hops from runs where trigger_id = ?', [scene.id])).toEqual([{ hops: 7 }]);
});

test('equal messages of two workspaces never meet; an archived workspace and a suspended organization answer 404', async () => {
  const [one, other] = [await makeChannel(world, 'telegram'), await makeChannel(world, 'telegram')];
  const message = messageOf('telegram', 'Same');
  await say(one, message);
  await say(other, message);

  await sql('update workspaces set is_active = false where id = ?', [one.tenant.workspaceId]);
  await sql("update organizations set status = 'suspended' where id = ?", [other.tenant.organizationId]);
  const after = [
    (await say(one, messageOf('telegram', 'Late'), { secret: 'x' })).status,
    (await say(other, messageOf('telegram', 'Late'), { secret: 'x' })).status,
  ];

  expect([(await runsOf(one)).length, (await runsOf(other)).length]).toEqual([1, 1]);
  expect(after).toEqual([404, 404]);
});

test('votes of buttons are the sender’s, once each, and only on runs of the channel that have ended', async () => {
  const scene = await makeChannel(world, 'telegram');
  const foreign = await makeChannel(world, 'telegram');
  await say(scene, messageOf('telegram', 'Hello'));
  const [run] = await runsOf(scene);
  const press = (where: ChannelScene, rating: string, runId = run?.id) =>
    say(where, {
      update_id: Math.floor(Math.random() * 1e9),
      callback_query: { id: '1', from: { id: 7 }, data: `longhaul:vote:${rating}:${runId}` },
    });

  await press(scene, 'up');
  const early = await sql('select rating from feedback where run_id = ?', [run?.id]);
  await sql("update runs set status = 'succeeded', finish_reason = 'stop', finished_at = now() where id = ?", [run?.id]);
  await press(scene, 'up');
  await press(scene, 'down');
  await press(foreign, 'up');
  await press(scene, 'sideways');

  const votes = await sql('select rating, subject_kind, subject_id from feedback where run_id = ?', [run?.id]);
  expect([early, votes]).toEqual([[], [{ rating: 'down', subject_kind: 'guest', subject_id: 'telegram:7' }]]);
});
