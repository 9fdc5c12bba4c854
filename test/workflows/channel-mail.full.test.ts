import { randomUUID } from 'node:crypto';
import type { ParsedMail } from 'mailparser';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';
import type { Script } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { partsOf, sqlOn, type LiveChannel } from './channel-world.ts';
import { matrixTest } from '../chaos/whole.ts';

let models: ModelServer;
let smtp: MailServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  smtp = await startMailServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [smtp.port] });
});
afterEach(() => {
  smtp.onMail = null;
  smtp.refuse = null;
});
afterAll(async () => {
  await stack?.stop();
  await smtp?.close();
  await models?.close();
});

const token = 'relay-token-of-the-tests';

async function makeMailChannel(): Promise<LiveChannel> {
  const agentId = String((await makeAgent(stack, [])).id);
  const settings = { address: 'desk@agents.example', smtp: { host: '127.0.0.1', port: smtp.port, tls: false, user: 'desk' } };
  const secrets = { smtp_password: 'canary', inbound_token: token };
  const { id } = await created(stack, '/channels', { kind: 'email', name: 'Desk', agent_id: agentId, settings, secrets });
  return { id, kind: 'webhook', agentId, secret: token };
}

interface Written {
  readonly id?: string;
  readonly from?: string;
  readonly subject?: string;
  readonly inReplyTo?: string | undefined;
  readonly process?: ProcessName;
}

/** What a relay delivers, until it is taken. */
async function write(channel: LiveChannel, text: string, written: Written = {}): Promise<void> {
  const { id = `<${randomUUID()}@mail.example>`, from = 'ada@mail.example', subject = 'Refund', inReplyTo, process = 'api' } = written;
  const raw = [
    `From: Ada <${from}>`,
    'To: desk@agents.example',
    `Subject: ${subject}`,
    `Message-ID: ${id}`,
    ...(inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]),
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(text).toString('base64'),
    '',
  ].join('\r\n');
  const body = JSON.stringify({ raw, spf: { result: 'pass', domain: 'mail.example' } });
  const headers = { 'content-type': 'application/json', 'x-webhook-token': token };
  await until(async () => {
    const reply = await fetch(`${stack.url(process)}/channels/${channel.id}/inbound`, { method: 'POST', headers, body }).catch(() => null);
    if (reply && reply.status !== 200 && reply.status !== 503) throw new Error(`the channel answered ${reply.status}`);
    return reply?.status === 200;
  });
}

const ask = (channel: LiveChannel, script: Script, written: Written = {}) => write(channel, scripted(script), written);
const answer = (text: string): Script => ({ steps: [{ text }] });
const mailsWith = (words: string): ParsedMail[] => smtp.mails.filter(({ text }) => text?.includes(words) === true);
const isSent = async (channel: LiveChannel, count = 1) => {
  const parts = await partsOf(stack, channel);
  return parts.length >= count && parts.every(({ state }) => state === 'sent');
};
const runsOf = (channel: LiveChannel) =>
  sqlOn(stack)<{ id: string; session_key: string; conversation_id: string; status: string }>(
    'select id, session_key, conversation_id, status from runs where trigger_id = ? order by id',
    [channel.id],
  );

test('an answer is a mail in the thread; what answers it by In-Reply-To alone is the next turn of the conversation', async () => {
  const channel = await makeMailChannel();

  await ask(channel, answer('It is **on its way**.'), { id: '<root@mail.example>' });
  await until(() => isSent(channel));
  const [first] = mailsWith('on its way');
  await ask(channel, answer('You are welcome.'), { subject: 'Re: Refund', inReplyTo: first?.messageId });
  await until(() => isSent(channel, 2));

  const [part] = await partsOf(stack, channel);
  expect(first).toMatchObject({ subject: 'Re: Refund', inReplyTo: '<root@mail.example>', messageId: part?.external_id });
  expect([first?.from?.text, first?.html]).toEqual(['desk@agents.example', expect.stringContaining('<strong>on its way</strong>')]);
  const [second] = mailsWith('You are welcome.');
  expect([second?.subject, second?.references]).toEqual(['Re: Refund', expect.arrayContaining([first?.messageId])]);
  const runs = await runsOf(channel);
  expect([runs.length, new Set(runs.map(({ conversation_id }) => conversation_id)).size]).toEqual([2, 1]);
  expect(new Set(runs.map(({ session_key }) => session_key))).toEqual(new Set([`channel:${channel.id}:<root@mail.example>`]));
  expect(smtp.recipients.every((to) => to === 'ada@mail.example')).toBe(true);
});

/** Kills the worker when a mail with these words is with the server, before anybody is told. */
function strikeAt(words: string, signal: 'SIGKILL' | 'SIGSTOP'): () => boolean {
  let isStruck = false;
  smtp.onMail = async ({ text }) => {
    if (text?.includes(words) !== true) return;
    smtp.onMail = null;
    await stack.kill('worker-runs', signal);
    isStruck = true;
  };
  return () => isStruck;
}

test('a worker killed between send and record sends the same mail again: one Message-ID, one date, one part', async () => {
  const channel = await makeMailChannel();
  const isKilled = strikeAt('Killed once', 'SIGKILL');

  await ask(channel, answer('Killed once.'));
  await until(isKilled);
  await stack.start('worker-runs');
  await until(() => isSent(channel));

  const mails = mailsWith('Killed once');
  expect(mails).toHaveLength(2);
  expect(new Set(mails.map(({ messageId, date }) => `${messageId} ${date?.toISOString()}`)).size).toBe(1);
  expect((await partsOf(stack, channel)).map(({ state, attempts, external_id }) => [state, attempts, external_id])).toEqual([
    ['sent', 2, mails[0]?.messageId],
  ]);
});

matrixTest('a worker that is frozen between send and record, and one that takes over: the same Message-ID, one run', async () => {
  const channel = await makeMailChannel();
  const isFrozen = strikeAt('Frozen once', 'SIGSTOP');

  await ask(channel, answer('Frozen once.'));
  await until(isFrozen);
  await stack.start('worker-runs-2');
  await until(() => isSent(channel));
  await stack.kill('worker-runs', 'SIGCONT');
  await ask(channel, answer('Still here.'), { subject: 'Other' });
  await until(() => isSent(channel, 2));

  expect(new Set(mailsWith('Frozen once').map(({ messageId }) => messageId)).size).toBe(1);
  expect((await runsOf(channel)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  await stack.kill('worker-runs-2');
});

test('a server that refuses a mail ends the part: a warning of the run, an event and the state of the channel', async () => {
  const channel = await makeMailChannel();
  smtp.refuse = { stage: 'recipient', code: 550 };

  await ask(channel, answer('Nobody reads this.'));
  await until(async () => (await partsOf(stack, channel))[0]?.state === 'failed');

  const view = (await stack.request('GET', `/channels/${channel.id}`)).body as { state: string; last_error: string };
  expect([view.state, view.last_error]).toEqual(['error', 'SMTP 550']);
  const events = await sqlOn(stack)("select id from events where event_kind = 'channel.failed' and payload ->> 'channel_id' = ?", [
    channel.id,
  ]);
  expect(events).toHaveLength(1);
});

test('a server that wants to be asked later is asked later, and nothing is lost meanwhile', async () => {
  const channel = await makeMailChannel();
  smtp.refuse = { stage: 'recipient', code: 451 };

  await ask(channel, answer('Greylisted.'));
  await until(async () => (await partsOf(stack, channel))[0]?.last_error === 'SMTP 451');

  const [part] = await sqlOn(stack)<{ state: string; failures: number; wait: number }>(
    'select state, failures, extract(epoch from next_attempt_at - updated_at)::int as wait from channel_outbound where channel_id = ?',
    [channel.id],
  );
  expect(part).toEqual({ state: 'pending', failures: 0, wait: 300 });
});

test('a test of the channel logs in and sends a mail; it says what is wrong with the server', async () => {
  const channel = await makeMailChannel();
  const testIt = async (body: object) =>
    (await stack.request('POST', `/channels/${channel.id}/test`, { body })).body as Record<string, unknown>;

  const good = await testIt({ send_to: 'bob@mail.example', text: 'A test.' });
  smtp.refuse = { stage: 'login', code: 535 };
  const wrong = await testIt({});

  const [mail] = mailsWith('A test.');
  expect(good).toEqual({
    ok: true,
    checks: [
      { name: 'smtp', ok: true, detail: 'logged in, not encrypted' },
      { name: 'send', ok: true, detail: 'sent' },
    ],
    identity: { id: 'desk@agents.example', name: 'desk@agents.example' },
    sent_message_id: mail?.messageId,
  });
  expect(mail?.headers.get('auto-submitted')).toBe('auto-generated');
  expect([wrong['ok'], wrong['checks']]).toEqual([false, [{ name: 'smtp', ok: false, detail: 'SMTP 535' }]]);
});
