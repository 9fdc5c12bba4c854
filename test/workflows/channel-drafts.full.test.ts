import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, makeLiveChannel, partsOf, runsOf, type LiveChannel } from './channel-world.ts';
import { matrixTest } from '../chaos/whole.ts';

let models: ModelServer;
let chat: ChatServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  chat = await startChatServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, env: chat.env });
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

let places = 0;
const newPlace = () => String(500_000 + (places += 1));
const isSent = async (channel: LiveChannel) => {
  // In this order: while a run goes on its draft counts as sent.
  const runs = await runsOf(stack, channel);
  const parts = await partsOf(stack, channel);
  return runs[0]?.status === 'succeeded' && parts.length > 0 && parts.every(({ state }) => state === 'sent');
};
/** An answer that takes some twenty seconds to be written. */
const slow = (name: string) => {
  const text = Array.from({ length: 40 }, (_, n) => `${name} word${n} **bold** and more words.`).join(' ');
  return { text, script: { steps: [{ text, tokens: 40, delay_ms: 500 }] } };
};

test.each(['slack', 'telegram', 'discord'] as const)(
  '%s: an answer is shown while it grows, in one message, at most once a second, and whole in the end',
  async (kind) => {
    const [place, name] = [newPlace(), `Grows-${kind}`];
    const channel = await makeLiveChannel(stack, chat, kind, { streaming: true });
    const { text, script } = slow(name);
    const at: number[] = [];
    chat.instead = ({ service, body }) => {
      if (service === kind && JSON.stringify(body).includes(name)) at.push(performance.now());
      return null;
    };

    await ask(stack, channel, script, { place });
    await until(() => isSent(channel));

    const shown = chat.messages.filter((message) => message.service === kind && message.text.includes(name));
    expect(shown).toHaveLength(1);
    expect(shown[0]?.edits).toBeGreaterThanOrEqual(1);
    expect(shown[0]?.text).toContain('word39');
    expect(shown[0]?.text.endsWith('…')).toBe(false);
    // The answer itself may follow the last draft at once.
    const gaps = at.slice(1, -1).map((time, n) => time - (at[n] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(900);
    const plain = kind === 'discord' ? text : '';
    if (plain !== '') expect(shown[0]?.text).toBe(plain);
  },
);

matrixTest('a worker killed while an answer grows leaves one message, with the whole answer', async () => {
  const [place, name] = [newPlace(), 'Killed-draft'];
  const channel = await makeLiveChannel(stack, chat, 'slack', { streaming: true });
  let isKilled = false;
  chat.onMessage = async ({ text }) => {
    if (!text.includes(name)) return;
    chat.onMessage = null;
    // The draft stands in the thread, and nobody has recorded it.
    await stack.kill('worker-runs');
    isKilled = true;
  };

  await ask(stack, channel, slow(name).script, { place });
  await until(() => isKilled);
  await stack.start('worker-runs');
  await until(() => isSent(channel));

  const shown = chat.of('slack', place).filter(({ text }) => text.includes(name));
  expect(shown.map(({ text }) => [text.includes('word39'), text.endsWith('…')])).toEqual([[true, false]]);
});

test('a service that takes no drafts gets the answer all the same', async () => {
  const [place, name] = [newPlace(), 'No-drafts'];
  const channel = await makeLiveChannel(stack, chat, 'slack', { streaming: true });
  chat.instead = ({ path, body }) =>
    path === 'chat.postMessage' && JSON.stringify(body).includes('…')
      ? { status: 200, body: { ok: false, error: 'restricted_action' } }
      : null;

  await ask(stack, channel, slow(name).script, { place });
  await until(() => isSent(channel));

  const shown = chat.of('slack', place);
  expect(shown.map(({ edits, text }) => [edits, text.includes('word39')])).toEqual([[0, true]]);
});

test('with streaming off nothing is shown before the answer', async () => {
  const [place, name] = [newPlace(), 'Off'];
  const channel = await makeLiveChannel(stack, chat, 'slack', { streaming: false });

  await ask(stack, channel, slow(name).script, { place });
  await until(() => isSent(channel));

  expect(chat.of('slack', place).map(({ edits }) => edits)).toEqual([0]);
});
