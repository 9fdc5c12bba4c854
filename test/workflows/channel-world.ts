import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { findChannel, secretsOfFound } from '../../db/channels/open-channel.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { ChatServer } from '../fakes/chat-server.ts';
import type { Script } from '../fakes/model-script.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import type { ProcessName, Stack } from '../support/stack.ts';

export type LiveKind = 'slack' | 'telegram' | 'discord' | 'webhook';

const signingSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const slackSecret = '8f742231b10e8888abcd99yyyzzz85a5';
const keys = generateKeyPairSync('ed25519');
const discordKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');

export interface LiveChannel {
  readonly id: string;
  readonly kind: LiveKind;
  readonly agentId: string;
  /** Of Telegram the one that was made. */
  readonly secret: string;
}

export async function makeLiveChannel(
  stack: Stack,
  chat: ChatServer,
  kind: LiveKind,
  more: Readonly<Record<string, unknown>> = {},
): Promise<LiveChannel> {
  const agentId = String(more['agent_id'] ?? (await makeAgent(stack, [])).id);
  const own = {
    slack: { settings: {}, secrets: { bot_token: 'xoxb-good', signing_secret: slackSecret } },
    telegram: { settings: {}, secrets: { bot_token: '42:good' } },
    discord: { settings: { application_id: '123456', public_key: discordKey }, secrets: { bot_token: 'good' } },
    webhook: { settings: { outbound_url: `${chat.origin}/desk` }, secrets: { signing_secret: signingSecret } },
  }[kind];
  const { id } = await created(stack, '/channels', { kind, name: kind, agent_id: agentId, streaming: false, ...own, ...more });
  const found = kind === 'telegram' ? await findChannel(stack.db, id) : null;
  const secret = found ? (secretsOfFound(found, stack.keys)['webhook_secret'] ?? '') : kind === 'slack' ? slackSecret : signingSecret;
  return { id, kind, agentId, secret };
}

let serial = Math.floor(Math.random() * 1_000_000);

export interface Said {
  readonly place?: string;
  readonly sender?: string;
  /** The service's own number of it. */
  readonly n?: number;
  readonly process?: ProcessName;
  readonly more?: object;
}

/** Says something as the service delivers it. Gives the status of the answer; null: none came. */
export async function say(stack: Stack, channel: LiveChannel, text: string, said: Said = {}): Promise<number | null> {
  const { n = (serial += 1), process = 'api' } = said;
  const body = JSON.stringify(bodyOf(channel.kind, text, { ...said, n }));
  const headers = { 'content-type': 'application/json', ...proofOf(channel, body, n) };
  const reply = await fetch(`${stack.url(process)}/channels/${channel.id}/inbound`, { method: 'POST', headers, body }).catch(() => null);
  await reply?.arrayBuffer().catch(() => null);
  return reply?.status ?? null;
}

/** The same until it is taken, as services do. */
export async function insist(stack: Stack, channel: LiveChannel, text: string, said: Said = {}): Promise<void> {
  const n = said.n ?? (serial += 1);
  for (let tries = 0; tries < 200; tries += 1) {
    const status = await say(stack, channel, text, { ...said, n });
    if (status === 200) return;
    if (status !== null && status !== 503) throw new Error(`${channel.kind} answered ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('nobody took the message');
}

/** Asks what the scripted model is to answer. */
export function ask(stack: Stack, channel: LiveChannel, script: Script, said: Said = {}): Promise<void> {
  return insist(stack, channel, scripted(script), said);
}

/** A message as a system of a tenant's own sends it to its channel. */
export function signMessage(
  key: string,
  value: object,
  id: string,
): { readonly payload: string; readonly headers: Record<string, string> } {
  const payload = JSON.stringify(value);
  const at = new Date();
  const seconds = String(Math.floor(at.getTime() / 1_000));
  const proof = { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': new Webhook(key).sign(id, at, payload) };
  return { payload, headers: { 'content-type': 'application/json', ...proof } };
}

function bodyOf(kind: LiveKind, text: string, { place = 'C1', sender = 'U1', n = 0, more = {} }: Said): object {
  switch (kind) {
    case 'slack':
      return {
        type: 'event_callback',
        team_id: 'T1TEAM',
        authorizations: [{ user_id: 'UBOT', is_bot: true }],
        event: {
          type: 'message',
          channel: place,
          channel_type: 'im',
          user: sender,
          // As Slack writes what people type.
          text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
          ts: `1700000000.${String(n).padStart(6, '0')}`,
          ...more,
        },
      };
    case 'telegram':
      return {
        update_id: n,
        message: {
          message_id: n,
          from: { id: sender, is_bot: false, first_name: 'Ada' },
          chat: { id: place, type: 'private' },
          text,
          ...more,
        },
      };
    case 'discord':
      return {
        type: 2,
        id: String(n),
        token: `token-${n}`,
        channel_id: place,
        member: { user: { id: sender, username: 'ada' } },
        data: { name: 'ask', options: [{ name: 'message', type: 3, value: text }], ...more },
      };
    case 'webhook':
      return { thread_id: place, user: { id: sender, name: 'Ada' }, text, ...more };
    default:
      return kind satisfies never;
  }
}

function proofOf({ kind, secret }: LiveChannel, body: string, n: number): Record<string, string> {
  const at = new Date();
  const seconds = String(Math.floor(at.getTime() / 1_000));
  switch (kind) {
    case 'slack':
      return {
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')}`,
      };
    case 'telegram':
      return { 'x-telegram-bot-api-secret-token': secret };
    case 'discord':
      return {
        'x-signature-ed25519': signBytes(null, Buffer.from(seconds + body), keys.privateKey).toString('hex'),
        'x-signature-timestamp': seconds,
      };
    case 'webhook':
      return { 'webhook-id': `m${n}`, 'webhook-timestamp': seconds, 'webhook-signature': new Webhook(secret).sign(`m${n}`, at, body) };
    default:
      return kind satisfies never;
  }
}

export const sqlOn =
  (stack: Stack) =>
  <T>(text: string, params: readonly unknown[] = []) =>
    sweep(stack.db, (em) => rows<T>(em, text, params));

export function partsOf(stack: Stack, { id }: LiveChannel) {
  return sqlOn(stack)<{
    kind: string;
    part: number;
    state: string;
    attempts: number;
    failures: number;
    external_id: string | null;
    run_id: string;
    last_error: string | null;
  }>(
    'select kind, part, state, attempts, failures, external_id, run_id, last_error from channel_outbound where channel_id = ? order by created_at, kind, part',
    [id],
  );
}

export function runsOf(stack: Stack, { id }: LiveChannel) {
  return sqlOn(stack)<{ id: string; status: string; warnings: { message: string }[]; input: { text: string } }>(
    'select id, status, warnings, input from runs where trigger_id = ? and parent_run_id is null order by id',
    [id],
  );
}
