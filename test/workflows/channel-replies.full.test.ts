import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, insist, makeLiveChannel, partsOf, runsOf, sqlOn, type LiveChannel, type LiveKind } from './channel-world.ts';

let models: ModelServer;
let chat: ChatServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  chat = await startChatServer();
  stack = await startStack({
    processes: ['api', 'worker-runs', 'worker-bulk'],
    modelBaseUrl: models.baseUrl,
    env: chat.env,
    egressPorts: [chat.port],
  });
});
afterEach(() => {
  chat.onMessage = null;
  chat.instead = null;
});
afterAll(async () => {
  await stack?.stop();
  chat?.close();
  await models?.close();
});

const answer = (text: string) => ({ steps: [{ text }] });
const isSent = async (channel: LiveChannel, count = 1) => {
  const parts = await partsOf(stack, channel);
  return parts.length >= count && parts.every(({ state }) => state === 'sent');
};
let places = 0;
const newPlace = () => String(900_000 + (places += 1));

test.each(['slack', 'telegram', 'discord', 'webhook'] as const)(
  '%s: an answer goes back into the thread, in the form of the service',
  async (kind) => {
    const place = newPlace();
    const channel = await makeLiveChannel(stack, chat, kind);

    await ask(stack, channel, answer('**Bold** & <b>'), { place });
    await until(() => isSent(channel));

    const texts = {
      slack: '*Bold* &amp; &lt;b&gt;',
      telegram: '<b>Bold</b> &amp; &lt;b&gt;',
      discord: '**Bold** & <b>',
      webhook: '**Bold** & <b>',
    };
    const [message, ...more] = kind === 'webhook' ? desk(place) : kind === 'discord' ? deferredOf(channel) : chat.of(kind, place);
    expect(more).toEqual([]);
    expect(kind === 'webhook' ? message?.body['data'] : message?.text).toEqual(
      kind === 'webhook' ? expect.objectContaining({ text: texts.webhook, thread_id: place, kind: 'reply', part: 0 }) : texts[kind],
    );
    const view = (await stack.request('GET', `/channels/${channel.id}`)).body as { state: string };
    expect(view.state).toBe('ok');
  },
);

/** What the desk got for a thread. */
function desk(place: string) {
  return chat.of('desk').filter(({ body }) => (body['data'] as { thread_id?: string } | undefined)?.thread_id === place);
}

const textsAt = (place: string) => desk(place).map(({ body }) => (body['data'] as { text: string }).text);

/** Replies that were deferred for messages of a channel. */
function deferredOf(channel: LiveChannel) {
  return chat
    .of('discord')
    .filter(({ text, place }) => place === 'deferred' && text !== '' && channel.kind === 'discord')
    .slice(-1);
}

test('a webhook’s answers verify with a foreign library, one id over all attempts, and count their hops', async () => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'webhook');
  let refused = 0;
  chat.instead = ({ service }) => (service === 'desk' && (refused += 1) <= 2 ? { status: 503, body: {} } : null);

  await ask(stack, channel, answer('Signed.'), { place });
  await until(() => isSent(channel));

  const [message] = desk(place);
  expect(new Webhook(channel.secret).verify(message?.raw ?? '', message?.headers as Record<string, string>)).toMatchObject({
    type: 'channel.message',
  });
  expect(message?.headers['x-longhaul-hops']).toBe('1');
  expect((await partsOf(stack, channel))[0]).toMatchObject({ attempts: 3, failures: 2 });
});

const long = [
  '# Report',
  'Some words with **marks**, [a link](https://example.com/?a=1&b=2) and 😀 signs.',
  `\`\`\`js\n${Array.from({ length: 120 }, (_, n) => `const line${n} = "<&> ${'x'.repeat(25)} 😀";`).join('\n')}\n\`\`\``,
  ...Array.from({ length: 30 }, (_, n) => `Paragraph ${n}: ${'lorem ipsum dolor '.repeat(8)}.`),
  '- one\n- two\n  - three',
].join('\n\n');

test.each(['slack', 'telegram', 'discord'] as const)(
  '%s: an answer of 10,000 characters with fences arrives whole, each part valid and in its limit',
  async (kind) => {
    const place = newPlace();
    const channel = await makeLiveChannel(stack, chat, kind);
    expect(long.length).toBeGreaterThan(10_000);

    await ask(stack, channel, answer(long), { place });
    await until(() => isSent(channel, 3));

    const parts = await sqlOn(stack)<{ text: string; is_plain: boolean }>(
      'select text, is_plain from channel_outbound where channel_id = ? order by part',
      [channel.id],
    );
    // Without the fences that were closed and opened again.
    const words = (text: string) => text.replaceAll(/^```.*$/gm, '').replaceAll(/\s+/g, ' ');
    expect(words(parts.map(({ text }) => text).join('\n'))).toBe(words(long));
    expect(parts.some(({ is_plain }) => is_plain)).toBe(false);
    for (const { text } of parts) expect([text.isWellFormed(), (text.match(/^```/gm)?.length ?? 0) % 2]).toEqual([true, 0]);
    const sent = kind === 'discord' ? [...deferredOf(channel), ...chat.of('discord', place)] : chat.of(kind, place);
    expect(sent).toHaveLength(parts.length);
  },
);

test.each(['slack', 'telegram'] as const)('%s: markup that the service refuses goes once as plain text', async (kind) => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, kind);

  await ask(stack, channel, answer('This is **BROKEN** markup'), { place });
  await until(() => isSent(channel));

  expect(chat.of(kind, place).map(({ text }) => text)).toEqual(['This is **BROKEN** markup']);
});

test('a service that asks to wait is left alone as long as it says, and it counts as no failure', async () => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'slack');
  const tries: number[] = [];
  chat.instead = ({ service, path }) => {
    if (service !== 'slack' || path !== 'chat.postMessage') return null;
    tries.push(performance.now());
    return tries.length <= 7 ? { status: 429, body: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '1' } } : null;
  };

  await ask(stack, channel, answer('Patience.'), { place });
  await until(() => isSent(channel));

  const gaps = tries.slice(1).map((at, n) => at - (tries[n] ?? 0));
  expect(tries).toHaveLength(8);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(990);
  expect((await partsOf(stack, channel))[0]).toMatchObject({ attempts: 8, failures: 0 });
});

test('an answer that has to wait keeps its place in the thread', async () => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'slack');
  let refused = 0;
  chat.instead = ({ service, path, body }) => {
    const isFirst = service === 'slack' && path === 'chat.postMessage' && JSON.stringify(body).includes('The first.');
    return isFirst && (refused += 1) <= 3
      ? { status: 429, body: { ok: false, error: 'ratelimited' }, headers: { 'retry-after': '2' } }
      : null;
  };

  await ask(stack, channel, answer('The first.'), { place });
  await until(() => refused > 0);
  await ask(stack, channel, answer('The second.'), { place });
  await until(() => isSent(channel, 2));

  expect(chat.of('slack', place).map(({ text }) => text)).toEqual(['The first.', 'The second.']);
});

test('a service that refuses for good ends the part: a warning of the run, an event, the channel’s state', async () => {
  const channel = await makeLiveChannel(stack, chat, 'slack');

  await ask(stack, channel, answer('Nobody there.'), { place: 'CGONE' });
  await until(async () => (await partsOf(stack, channel))[0]?.state === 'failed');

  const [run] = await runsOf(stack, channel);
  await until(async () => ((await runsOf(stack, channel))[0]?.warnings.length ?? 0) > 0);
  expect((await runsOf(stack, channel))[0]?.warnings).toEqual([
    expect.objectContaining({ message: expect.stringContaining('channel_not_found') }),
  ]);
  const events = await sqlOn(stack)("select event_kind, cause_run_id from events where payload ->> 'channel_id' = ?", [channel.id]);
  expect(events).toEqual([{ event_kind: 'channel.failed', cause_run_id: run?.id }]);
  const view = (await stack.request('GET', `/channels/${channel.id}`)).body as { state: string; last_error: string };
  expect([view.state, view.last_error]).toEqual(['error', 'channel_not_found']);
});

test('50 rapid messages of one sender are answered in order', async () => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'slack');

  await ask(stack, channel, { steps: [{ text: 'Answer 0', delay_ms: 500 }] } as never, { place });
  for (let n = 1; n < 50; n += 1) await insist(stack, channel, `Message ${n}`, { place });
  await until(async () => {
    const runs = await runsOf(stack, channel);
    return runs.every(({ status }) => status === 'succeeded') && (await isSent(channel, runs.length));
  });

  const runs = await runsOf(stack, channel);
  const said = runs.map(({ input }) => input.text).join('\n\n');
  expect([...said.matchAll(/Message (\d+)/g)].map(([, n]) => Number(n))).toEqual(Array.from({ length: 49 }, (_, n) => n + 1));
  const parts = await partsOf(stack, channel);
  const sentIds = chat.of('slack', place).map(({ id }) => id);
  expect(parts.map(({ external_id }) => external_id)).toEqual(sentIds);
  expect(parts.map(({ run_id }) => run_id)).toEqual(runs.map(({ id }) => id));
});

test('a run that waits says so with a link, each time, and goes on to its answer', async () => {
  const place = newPlace();
  const slug = `paint-${place}`;
  const config = { method: 'POST', url: `${chat.origin}/desk` };
  const agent = await makeAgent(stack, [{ slug, kind: 'http', description: 'Paints.', config }], { approvals: { write: 'ask' } });
  const channel = await makeLiveChannel(stack, chat, 'webhook', { agent_id: agent.id });

  await ask(stack, channel, { steps: [{ tool_calls: [{ name: slug, arguments: {} }] }, { text: 'The blue one.' }] }, { place });
  await until(() => isSent(channel));
  const [run] = await runsOf(stack, channel);
  const told = textsAt(place);
  const pending = (await stack.request('GET', `/runs/${run?.id}/approvals`)).body as { items: { id: string }[] };
  const resolutions = pending.items.map(({ id }) => ({ approval_id: id, decision: 'approve' }));
  const answered = await stack.request('POST', `/runs/${run?.id}/approvals`, { body: { resolutions } });
  await until(() => isSent(channel, 2));

  expect(answered.status).toBe(200);
  expect(told).toEqual([expect.stringMatching(new RegExp(`^It is waiting for.*/runs/${run?.id}$`))]);
  expect(textsAt(place)).toEqual([...told, 'The blue one.']);
});

test('a run that fails sends a short notice, and one that is cancelled nothing', async () => {
  const [failed, cancelled] = [newPlace(), newPlace()];
  const channel = await makeLiveChannel(stack, chat, 'webhook');

  await ask(stack, channel, { steps: [{ fault: { kind: 'status', status: 400 } }] }, { place: failed });
  await ask(stack, channel, { steps: [{ fault: { kind: 'hang' } }] }, { place: cancelled });
  const [first, other] = await runsOf(stack, channel);
  await stack.request('POST', `/runs/${other?.id}/cancel`, { body: {} });
  await until(async () => {
    const parts = await partsOf(stack, channel);
    const isOver = (await runsOf(stack, channel))[1]?.status === 'cancelled';
    return isOver && parts.length === 1 && parts[0]?.state === 'sent';
  });

  expect(textsAt(failed)).toEqual([expect.stringMatching(new RegExp(`^The answer failed.*/runs/${first?.id}$`))]);
  expect(textsAt(cancelled)).toEqual([]);
});

test.each(['slack', 'telegram', 'webhook'] as const)(
  '%s: a file of a message is read into the run before it begins',
  async (kind: LiveKind) => {
    const place = newPlace();
    const channel = await makeLiveChannel(stack, chat, kind);
    const path = {
      slack: '/slack/files/notes.txt',
      telegram: '/telegram/file/bot42:good/docs/f1',
      webhook: '/desk/notes.txt',
      discord: '',
    }[kind];
    chat.files.set(path, {
      bytes: Buffer.from('The code is 4711.'),
      type: 'text/plain',
      ...(kind === 'slack' ? { needs: 'Bearer xoxb-good' } : {}),
    });
    const more = {
      slack: {
        subtype: 'file_share',
        files: [{ name: 'notes.txt', mimetype: 'text/plain', size: 17, url_private_download: chat.origin + path }],
      },
      telegram: { document: { file_id: 'f1', file_name: 'notes.txt', mime_type: 'text/plain', file_size: 17 } },
      webhook: { attachments: [{ url: chat.origin + path, name: 'notes.txt', media_type: 'text/plain' }] },
      discord: {},
    }[kind];

    await ask(stack, channel, answer('Read.'), { place, more });
    await until(() => isSent(channel));

    const [run] = await runsOf(stack, channel);
    const [file] = await sqlOn(stack)(
      'select a.filename, a.state, a.size_bytes, a.media_type from attachments a join attachment_links l on l.attachment_id = a.id where l.owner_id = ?',
      [run?.id],
    );
    expect(file).toEqual({ filename: 'notes.txt', state: 'ready', size_bytes: 17, media_type: 'text/plain' });
    expect(run?.warnings).toEqual([]);
  },
);

test('a file that can not be had is left out with a warning, and the answer comes all the same', async () => {
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'webhook');

  await ask(stack, channel, answer('Without.'), { place, more: { attachments: [{ url: 'http://127.0.0.1:1/secret', name: 'x.txt' }] } });
  await until(() => isSent(channel));

  const [run] = await runsOf(stack, channel);
  expect(run?.warnings).toEqual([expect.objectContaining({ message: expect.stringContaining('x.txt') })]);
});

test('Slack’s token goes to no address but Slack’s', async () => {
  const place = newPlace();
  const other = await startChatServer();
  const channel = await makeLiveChannel(stack, chat, 'slack');

  const files = [{ name: 'x.txt', mimetype: 'text/plain', size: 1, url_private_download: `${other.origin}/desk/x` }];
  await ask(stack, channel, answer('Kept.'), { place, more: { subtype: 'file_share', files } });
  await until(() => isSent(channel));

  expect(other.calls).toEqual([]);
  other.close();
});

test('Telegram is told where its messages go, with a secret that no view shows; a token that it refuses is the channel’s state', async () => {
  const good = await makeLiveChannel(stack, chat, 'telegram');
  const bad = await makeLiveChannel(stack, chat, 'telegram', { secrets: { bot_token: '43:bad' } });
  const stateOf = async ({ id }: LiveChannel) =>
    (await stack.request('GET', `/channels/${id}`)).body as { state: string; last_error: string; secret_names: string[] };

  await until(async () => (await stateOf(good)).state === 'ok' && (await stateOf(bad)).state === 'error');

  const told = chat.calls.find(({ path, body }) => path === 'bot42:good/setWebhook' && String(body['url']).includes(good.id));
  expect(told?.body).toMatchObject({ url: `${stack.url()}/channels/${good.id}/inbound`, secret_token: good.secret });
  expect((await stateOf(good)).secret_names).toEqual(['bot_token', 'webhook_secret']);
  expect((await stateOf(bad)).last_error).toContain('Unauthorized');
});

test('a channel is tested: what the service thinks, and a message to a place', async () => {
  const place = newPlace();
  const [good, bad] = [
    await makeLiveChannel(stack, chat, 'slack'),
    await makeLiveChannel(stack, chat, 'slack', { secrets: { bot_token: 'xoxb-bad', signing_secret: 'x' } }),
  ];
  const test_ = async ({ id }: LiveChannel, body: object) =>
    (await stack.request('POST', `/channels/${id}/test`, { body })).body as Record<string, unknown>;

  const [fine, refused] = [await test_(good, { send_to: `C${place}`, text: 'Hello *you*' }), await test_(bad, {})];
  const wrong = await stack.request('POST', `/channels/${good.id}/test`, { body: { send_to: 'no place!' } });

  expect(fine).toMatchObject({ ok: true, identity: { id: 'UBOT', name: 'agent' }, sent_message_id: chat.of('slack', `C${place}`)[0]?.id });
  expect(chat.of('slack', `C${place}`)[0]?.text).toBe('Hello *you*');
  expect(refused).toMatchObject({
    ok: false,
    checks: [{ name: 'auth.test', ok: false, detail: 'invalid_auth' }],
    identity: null,
    sent_message_id: null,
  });
  expect(wrong.status).toBe(422);
});
