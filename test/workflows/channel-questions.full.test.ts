import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, insist, makeLiveChannel, partsOf, runsOf, say, sqlOn, type LiveChannel, type LiveKind } from './channel-world.ts';

let models: ModelServer;
let chat: ChatServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  chat = await startChatServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, env: chat.env, egressPorts: [chat.port] });
});
afterEach(() => {
  chat.onMessage = null;
});
afterAll(async () => {
  await stack?.stop();
  chat?.close();
  await models?.close();
});

let serial = 0;
const newPlace = () => `C8${String((serial += 1)).padStart(5, '0')}`;

/** A channel whose agent may ask, and the name of its tool. */
async function makeAskingChannel(
  kind: LiveKind,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ channel: LiveChannel; slug: string }> {
  const slug = `ask-${(serial += 1)}`;
  const agent = await makeAgent(stack, [{ slug, kind: 'builtin', description: 'Asks a person.', config: { name: 'ask_user' } }]);
  return { channel: await makeLiveChannel(stack, chat, kind, { agent_id: agent.id, ...more }), slug };
}

const question = (slug: string, words: string, options?: readonly string[]) => ({
  name: slug,
  arguments: { question: words, ...(options ? { options } : {}) },
});
const textsAt = (place: string) =>
  chat
    .of('desk')
    .map(({ body }) => body['data'] as { thread_id: string; text: string } | undefined)
    .flatMap((data) => (data?.thread_id === place ? [data.text] : []));
const isSent = async (channel: LiveChannel, count: number) => {
  const parts = await partsOf(stack, channel);
  return parts.length >= count && parts.every(({ state }) => state === 'sent');
};
const answersOf = (channel: LiveChannel) =>
  sqlOn(stack)<{ status: string; response: unknown; resolved_by_kind: string | null }>(
    'select a.status, a.response, a.resolved_by_kind from approvals a join runs r on r.id = a.root_run_id where r.trigger_id = ? order by a.id',
    [channel.id],
  );

test('a question is asked in the thread, and the next message of whoever was asked is its answer, whatever on_busy says', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('webhook', { on_busy: 'interrupt' });

  await ask(stack, channel, { steps: [{ tool_calls: [question(slug, 'Which **colour**?')] }, { text: 'Painted blue.' }] }, { place });
  await until(() => isSent(channel, 1));
  const asked = textsAt(place);
  await insist(stack, channel, '  Blue, please.\n', { place });
  await until(() => isSent(channel, 2));

  expect(asked).toEqual(['Which **colour**?']);
  expect(textsAt(place)).toEqual([...asked, 'Painted blue.']);
  expect(await answersOf(channel)).toEqual([{ status: 'responded', response: 'Blue, please.', resolved_by_kind: 'system' }]);
  const [run, ...more] = await runsOf(stack, channel);
  expect([run?.status, more]).toEqual(['succeeded', []]);
  const messages = await sqlOn(stack)('select status, run_id from channel_messages where channel_id = ? order by id', [channel.id]);
  expect(messages).toEqual([
    { status: 'received', run_id: run?.id },
    { status: 'received', run_id: run?.id },
  ]);
});

test('of options a number or the words are an answer; everything else is told, and the question stays', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('webhook');
  const steps = [
    { tool_calls: [question(slug, 'Which colour?', ['Red', 'Dark blue'])] },
    { tool_calls: [question(slug, 'Which size?', ['Small', 'Large'])] },
    { text: 'Done.' },
  ];

  await ask(stack, channel, { steps }, { place });
  await until(() => isSent(channel, 1));
  await insist(stack, channel, 'Green', { place });
  await until(() => isSent(channel, 2));
  await insist(stack, channel, 'dark blue.', { place });
  await until(() => isSent(channel, 3));
  await insist(stack, channel, '1', { place });
  await until(() => isSent(channel, 4));

  expect(textsAt(place)).toEqual([
    'Which colour?\n\n1. Red\n2. Dark blue\n\nAnswer with a number, or with the words.',
    expect.stringContaining('not one of the possible answers'),
    'Which size?\n\n1. Small\n2. Large\n\nAnswer with a number, or with the words.',
    'Done.',
  ]);
  expect((await answersOf(channel)).map(({ response }) => response)).toEqual(['Dark blue', 'Small']);
});

test('two questions at once are asked one after the other', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('webhook');

  await ask(
    stack,
    channel,
    { steps: [{ tool_calls: [question(slug, 'First?'), question(slug, 'Second?')] }, { text: 'Both known.' }] },
    { place },
  );
  await until(() => isSent(channel, 1));
  const first = textsAt(place);
  await insist(stack, channel, 'one', { place });
  await until(() => isSent(channel, 2));
  await insist(stack, channel, 'two', { place });
  await until(() => isSent(channel, 3));

  expect(first).toEqual(['First?']);
  expect(textsAt(place)).toEqual(['First?', 'Second?', 'Both known.']);
  expect((await answersOf(channel)).map(({ response }) => response)).toEqual(['one', 'two']);
});

test('nobody else’s message answers, and none in another thread', async () => {
  const [place, other] = [newPlace(), newPlace()];
  const { channel, slug } = await makeAskingChannel('webhook');

  await ask(stack, channel, { steps: [{ tool_calls: [question(slug, 'Which one?')] }, { text: 'Known.' }] }, { place });
  await until(() => isSent(channel, 1));
  await ask(stack, channel, { steps: [{ text: 'To Bob.' }] }, { place, sender: 'U2' });
  await ask(stack, channel, { steps: [{ text: 'Elsewhere.' }] }, { place: other });
  await until(() => isSent(channel, 3));

  expect(await answersOf(channel)).toEqual([expect.objectContaining({ status: 'pending' })]);
  expect((await runsOf(stack, channel)).map(({ status }) => status)).toEqual(['waiting', 'succeeded', 'succeeded']);
});

test('in a group whoever was asked answers without naming the agent again; nobody else is heard', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('slack');
  const inGroup = { channel_type: 'channel', thread_ts: '1700000000.000042' };
  const mention = { type: 'app_mention', ...inGroup };

  await ask(stack, channel, { steps: [{ tool_calls: [question(slug, 'Which one?')] }, { text: 'Known.' }] }, { place, more: mention });
  await until(() => isSent(channel, 1));
  await insist(stack, channel, 'not me', { place, sender: 'U2', more: inGroup });
  await insist(stack, channel, 'the blue one', { place, more: inGroup });
  await until(() => isSent(channel, 2));

  expect((await answersOf(channel)).map(({ response }) => response)).toEqual(['the blue one']);
  expect(chat.of('slack', place).map(({ text, thread }) => [text, thread])).toEqual([
    ['Which one?', inGroup.thread_ts],
    ['Known.', inGroup.thread_ts],
  ]);
});

test('what comes behind a question stands below it, also where its answer had begun to show', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('slack', { streaming: true });
  const slow = {
    text: 'Let me look into this for you, it takes a moment. '.repeat(3),
    tokens: 8,
    delay_ms: 600,
    tool_calls: [question(slug, 'Which one?')],
  };

  await ask(stack, channel, { steps: [slow, { text: 'It is the blue one.' }] }, { place });
  await until(() => chat.of('slack', place).some(({ text }) => text === 'Which one?'));
  await insist(stack, channel, 'blue', { place });
  await until(async () => (await runsOf(stack, channel)).every(({ status }) => status === 'succeeded') && (await isSent(channel, 2)));

  const texts = chat.of('slack', place).map(({ text }) => text);
  expect(texts).toEqual([expect.stringContaining('Let me look'), 'Which one?', 'It is the blue one.']);
});

test('a worker killed when a question stands in the thread asks it no second time; an answer that comes twice, the API killed meanwhile, counts once', async () => {
  const place = newPlace();
  const { channel, slug } = await makeAskingChannel('slack');
  let isKilled = false;
  chat.onMessage = async ({ text }) => {
    if (text !== 'Which one is it?') return;
    chat.onMessage = null;
    await stack.kill('worker-runs');
    isKilled = true;
  };

  await ask(stack, channel, { steps: [{ tool_calls: [question(slug, 'Which one is it?')] }, { text: 'Known.' }] }, { place });
  await until(() => isKilled);
  const first = say(stack, channel, 'blue', { place, n: 99_001 });
  await stack.kill('api');
  await first;
  await Promise.all([stack.start('api'), stack.start('worker-runs')]);
  await insist(stack, channel, 'blue', { place, n: 99_001 });
  await until(() => isSent(channel, 2));

  expect(chat.of('slack', place).map(({ text }) => text)).toEqual(['Which one is it?', 'Known.']);
  expect((await answersOf(channel)).map(({ status, response }) => [status, response])).toEqual([['responded', 'blue']]);
  expect(await runsOf(stack, channel)).toHaveLength(1);
});
