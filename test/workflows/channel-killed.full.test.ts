import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, insist, makeLiveChannel, partsOf, runsOf, say, type LiveChannel, type LiveKind } from './channel-world.ts';
import { matrixTest, oneOfEach } from '../chaos/whole.ts';

let models: ModelServer;
let chat: ChatServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  chat = await startChatServer();
  stack = await startStack({
    processes: ['api', 'api-2', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    env: chat.env,
    egressPorts: [chat.port],
  });
});
afterEach(() => {
  chat.onMessage = null;
});
afterAll(async () => {
  await stack?.stop();
  chat?.close();
  await models?.close();
});

let places = 0;
const newPlace = () => String(700_000 + (places += 1));
/** Two parts at Slack and Discord. */
const words = (name: string) => `${name} first ${'lorem ipsum '.repeat(140)}\n\n${name} second ${'dolor sit '.repeat(170)}`;
const sentOf = (kind: LiveKind, name: string) =>
  chat.messages.filter(({ service, text }) => service === (kind === 'webhook' ? 'desk' : kind) && text.includes(name));
const isOver = async (channel: LiveChannel) => {
  const parts = await partsOf(stack, channel);
  return parts.length > 0 && parts.every(({ state }) => state === 'sent' || state === 'unknown' || state === 'failed');
};

/** Kills the worker when the n-th part stands in the thread, before anybody is told. */
function killAt(n: number, name: string): () => boolean {
  let seen = 0;
  let isKilled = false;
  chat.onMessage = async ({ text }) => {
    if (!text.includes(name)) return;
    seen += 1;
    if (seen !== n) return;
    chat.onMessage = null;
    await stack.kill('worker-runs');
    isKilled = true;
  };
  return () => isKilled;
}

/** Services that can be asked what they have, and one that can not. */
const services = [
  ['slack', 2],
  ['telegram', 1],
  ['slack', 1],
  ['discord', 1],
  ['discord', 2],
] as const;

test.each(oneOfEach(services, ([kind]) => (kind === 'telegram' ? 'silent' : 'asked')))(
  '%s: a worker killed between send and record doubles no part (part %i)',
  async (kind, n) => {
    const [place, name] = [newPlace(), `Killed-${kind}-${n}`];
    const channel = await makeLiveChannel(stack, chat, kind);
    const isKilled = killAt(n, name);

    await ask(stack, channel, { steps: [{ text: words(name) }] }, { place });
    await until(isKilled);
    await stack.start('worker-runs');
    await until(() => isOver(channel));

    const parts = await partsOf(stack, channel);
    expect(sentOf(kind, name)).toHaveLength(parts.length);
    expect(new Set(sentOf(kind, name).map(({ text }) => text)).size).toBe(parts.length);
    const lost = kind === 'telegram' ? ['unknown'] : [];
    expect(parts.map(({ state }) => state)).toEqual([...lost, ...parts.slice(lost.length).map(() => 'sent')]);
    const [run] = await runsOf(stack, channel);
    expect(run?.warnings).toHaveLength(lost.length);
  },
);

matrixTest('a webhook’s receiver gets the same part again under the same id', async () => {
  const [place, name] = [newPlace(), 'Again-desk'];
  const channel = await makeLiveChannel(stack, chat, 'webhook');
  const isKilled = killAt(1, name);

  await ask(stack, channel, { steps: [{ text: name }] }, { place });
  await until(isKilled);
  await stack.start('worker-runs');
  await until(() => isOver(channel));

  const posts = sentOf('webhook', name);
  expect(posts).toHaveLength(2);
  expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

matrixTest('a worker that is frozen between send and record, and one that takes over, double no part', async () => {
  const [place, name] = [newPlace(), 'Frozen-slack'];
  const channel = await makeLiveChannel(stack, chat, 'slack');
  let isFrozen = false;
  chat.onMessage = async ({ text }) => {
    if (!text.includes(name)) return;
    chat.onMessage = null;
    await stack.kill('worker-runs', 'SIGSTOP');
    isFrozen = true;
  };

  await ask(stack, channel, { steps: [{ text: words(name) }] }, { place });
  await until(() => isFrozen);
  await stack.start('worker-runs-2');
  await until(() => isOver(channel));
  await stack.kill('worker-runs', 'SIGCONT');
  await insist(stack, channel, 'Are you there?', { place });
  await until(async () => (await runsOf(stack, channel)).length === 2 && (await isOver(channel)));

  const parts = (await partsOf(stack, channel)).filter(({ run_id }, _n, all) => run_id === all[0]?.run_id);
  expect(sentOf('slack', name)).toHaveLength(parts.length);
  expect(parts.map(({ state }) => state)).toEqual(parts.map(() => 'sent'));
  await stack.kill('worker-runs-2');
});

test('an API killed between receipt and answer, and a worker after it: messages that come again are one run each', async () => {
  const channel = await makeLiveChannel(stack, chat, 'webhook');
  const count = 12;
  const texts = Array.from({ length: count }, (_, n) => `Message-${n}.`);
  const send = (n: number, process: 'api' | 'api-2') => say(stack, channel, texts[n] ?? '', { place: `t${n}`, n: 80_000 + n, process });

  const first = Promise.all(texts.map((_, n) => send(n, 'api')));
  await until(async () => (await runsOf(stack, channel)).length > 0);
  await stack.kill('api');
  await stack.kill('worker-runs');
  await first;
  for (const [n, text] of texts.entries()) await insist(stack, channel, text, { place: `t${n}`, n: 80_000 + n, process: 'api-2' });
  await Promise.all([stack.start('api'), stack.start('worker-runs')]);
  for (const [n, text] of texts.entries()) await insist(stack, channel, text, { place: `t${n}`, n: 80_000 + n });
  await until(async () => (await partsOf(stack, channel)).length === count && (await isOver(channel)));

  const runs = await runsOf(stack, channel);
  expect(runs.map(({ input }) => input.text).toSorted()).toEqual(texts.toSorted());
});
