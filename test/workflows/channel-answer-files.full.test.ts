import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, makeLiveChannel, partsOf, type LiveChannel, type LiveKind } from './channel-world.ts';
import { oneOfEach } from '../chaos/whole.ts';

let models: ModelServer;
let chat: ChatServer;
let smtp: MailServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  chat = await startChatServer();
  smtp = await startMailServer();
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    env: chat.env,
    egressPorts: [chat.port, smtp.port],
  });
});
afterEach(() => {
  chat.onMessage = null;
});
afterAll(async () => {
  await stack?.stop();
  chat?.close();
  await smtp?.close();
  await models?.close();
});

const png = (size: number, seed: number) =>
  Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(size, seed)]);
let serial = 0;
const newPlace = () => String(600_000 + (serial += 1));

/** An agent whose tools bring a picture each. */
async function makePainter(
  pictures: readonly Buffer[],
): Promise<{ readonly agentId: string; readonly calls: readonly { name: string; arguments: object }[] }> {
  const tools = pictures.map((bytes, at) => {
    const path = `/made/${(serial += 1)}/${at}`;
    chat.files.set(path, { bytes, type: 'image/png' });
    return { slug: `paint-${serial}-${at}`, kind: 'http', description: 'Paints.', config: { method: 'GET', url: `${chat.origin}${path}` } };
  });
  const agent = await makeAgent(stack, tools);
  return { agentId: String(agent.id), calls: tools.map(({ slug }) => ({ name: slug, arguments: {} })) };
}

const isOver = async (channel: LiveChannel, count: number) => {
  const parts = await partsOf(stack, channel);
  return parts.length >= count && parts.every(({ state }) => state === 'sent' || state === 'unknown' || state === 'failed');
};
const filesAt = (kind: LiveKind, place: string) =>
  chat.messages.flatMap(({ service, place: at, file }) => (service === kind && at === place && file ? [file] : []));

test.each(['slack', 'telegram', 'discord'] as const)(
  '%s: files of an answer come behind its text, each once, whole and under a name of its own',
  async (kind) => {
    const place = newPlace();
    const pictures = [png(40_000, 1), png(50_000, 2)];
    const { agentId, calls } = await makePainter(pictures);
    const channel = await makeLiveChannel(stack, chat, kind, { agent_id: agentId });

    await ask(stack, channel, { steps: [{ tool_calls: calls }, { text: 'Here they are.' }] }, { place });
    await until(() => isOver(channel, 3));

    const files = filesAt(kind, place);
    expect(files.map(({ bytes }) => bytes.equals(pictures[0] ?? Buffer.alloc(0)) || bytes.equals(pictures[1] ?? Buffer.alloc(0)))).toEqual([
      true,
      true,
    ]);
    expect(new Set(files.map(({ name }) => name)).size).toBe(2);
    expect((await partsOf(stack, channel)).map(({ part, state }) => [part, state])).toEqual([
      [0, 'sent'],
      [10_000, 'sent'],
      [10_001, 'sent'],
    ]);
    const order = chat.messages.filter(
      (message) => message.service === kind && (message.place === place || message.text === 'Here they are.'),
    );
    expect(order.map(({ file }) => file !== undefined)).toEqual([false, true, true]);
  },
);

test('a webhook’s receiver gets the names of files, by which it reads them with its key', async () => {
  const { agentId, calls } = await makePainter([png(1_000, 3)]);
  const place = newPlace();
  const channel = await makeLiveChannel(stack, chat, 'webhook', { agent_id: agentId });

  await ask(stack, channel, { steps: [{ tool_calls: calls }, { text: 'Named.' }] }, { place });
  await until(() => isOver(channel, 1));

  const posted = chat.of('desk').find(({ text }) => text.includes('Named.'));
  const attachments = [{ attachment_id: expect.any(String), name: expect.any(String), media_type: 'image/png', bytes: 1_016 }];
  expect(posted?.body['data']).toMatchObject({ attachments });
});

/** Asks by mail, and gives the mail that answers with these words. */
async function askByMail(pictures: readonly Buffer[], words: string) {
  const { agentId, calls } = await makePainter(pictures);
  const settings = { address: 'desk@agents.example', smtp: { host: '127.0.0.1', port: smtp.port, tls: false, user: 'desk' } };
  const secrets = { smtp_password: 'x', inbound_token: 'relay-token-of-the-tests' };
  const { id } = await created(stack, '/channels', { kind: 'email', name: 'Desk', agent_id: agentId, settings, secrets });
  const text = scripted({ steps: [{ tool_calls: calls }, { text: words }] });
  const raw = `From: ada@mail.example\r\nTo: desk@agents.example\r\nSubject: Picture\r\n\r\n${text}\r\n`;
  const reply = await fetch(`${stack.url('api')}/channels/${id}/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-webhook-token': secrets.inbound_token },
    body: JSON.stringify({ raw, spf: { result: 'pass', domain: 'mail.example' } }),
  });
  expect(reply.status).toBe(200);
  const find = () => smtp.mails.find((mail) => mail.text?.includes(words) === true);
  await until(() => find() !== undefined);
  return find();
}

test('by mail files come in the same mail', async () => {
  const picture = png(30_000, 4);

  const mail = await askByMail([picture], 'Attached.');

  expect(mail?.attachments.map(({ content, contentType }) => [content.equals(picture), contentType])).toEqual([[true, 'image/png']]);
});

test('what is too large for its service is named, with a link', async () => {
  const pictures = [png(9_000_000, 5), png(9_000_000, 6)];

  const mail = await askByMail(pictures, 'Two of them.');

  expect(mail?.attachments.map(({ content }) => content.length)).toEqual([9_000_016]);
  expect(mail?.text).toMatch(/Two of them\.\s+Too large to send here: \d\.\S* \S+\/runs\/[0-9a-f-]{36}/);
});

test.each(oneOfEach(['slack', 'discord', 'telegram'] as const, () => 'service'))(
  '%s: a worker killed between upload and record doubles no file',
  async (kind) => {
    const place = newPlace();
    const { agentId, calls } = await makePainter([png(20_000, 6)]);
    const channel = await makeLiveChannel(stack, chat, kind, { agent_id: agentId });
    let isKilled = false;
    chat.onMessage = async ({ file, place: at }) => {
      if (!file || at !== place) return;
      chat.onMessage = null;
      await stack.kill('worker-runs');
      isKilled = true;
    };

    await ask(stack, channel, { steps: [{ tool_calls: calls }, { text: `Once ${place}.` }] }, { place });
    await until(() => isKilled);
    await stack.start('worker-runs');
    await until(() => isOver(channel, 2));

    expect(filesAt(kind, place)).toHaveLength(1);
    expect((await partsOf(stack, channel)).map(({ state }) => state)).toEqual(['sent', kind === 'telegram' ? 'unknown' : 'sent']);
  },
);
