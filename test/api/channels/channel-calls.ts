import { createHmac, generateKeyPairSync, sign as signBytes, type KeyObject } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { TestApi } from '../../support/api.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, type Answer, type World } from '../world.ts';

export const signingSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const slackSecret = '8f742231b10e8888abcd99yyyzzz85a5';
const keys = generateKeyPairSync('ed25519');
export const discordPublicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');

/** What each kind needs to be made. */
export const kinds = {
  webhook: { settings: { outbound_url: 'https://desk.example.com/answers' }, secrets: { signing_secret: signingSecret } },
  slack: { settings: {}, secrets: { bot_token: 'xoxb-good', signing_secret: slackSecret } },
  telegram: { settings: {}, secrets: { bot_token: '42:good' } },
  discord: { settings: { application_id: '123456', public_key: discordPublicKey }, secrets: { bot_token: 'good' } },
} as const;
export type TestKind = keyof typeof kinds;

export interface ChannelScene {
  readonly tenant: TestTenant;
  readonly agentId: string;
  readonly id: string;
  readonly kind: TestKind;
  readonly path: string;
  readonly view: Answer['body'];
}

export async function makeChannel(
  world: World,
  kind: TestKind,
  more: Readonly<Record<string, unknown>> = {},
  given: TestTenant | null = null,
): Promise<ChannelScene> {
  const tenant = given ?? (await world.tenant());
  const agentId = String(more['agent_id'] ?? (await makeAgent(world, tenant.tokens.admin)).id);
  const made = await world.call(tenant.tokens.admin, 'POST', '/channels', {
    body: { kind, name: 'Chat', agent_id: agentId, ...kinds[kind], ...more },
  });
  if (made.status !== 201) throw new Error(`createChannel: ${made.status} ${JSON.stringify(made.body)}`);
  return { tenant, agentId, id: made.body.id, kind, path: `/channels/${made.body.id}/inbound`, view: made.body };
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly api?: TestApi;
}

/** Delivers bytes as a service does: no credential of the platform. */
export async function post(
  world: World,
  path: string,
  body: string | Buffer,
  { headers = {}, api = world.api }: Sent = {},
): Promise<Answer> {
  const reply = await api.app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', ...headers },
    payload: body,
  });
  return {
    status: reply.statusCode,
    headers: reply.headers as Record<string, string | undefined>,
    body: reply.body === '' ? null : JSON.parse(reply.body),
  };
}

export interface Signing {
  readonly id?: string;
  readonly at?: Date;
  readonly secret?: string;
}

/** The headers by which a service proves itself, made by its own rules: of Standard Webhooks by its library. */
export function proofOf(
  kind: TestKind,
  body: string,
  { id = `msg_${crypto.randomUUID()}`, at = new Date(), secret }: Signing = {},
): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1_000));
  switch (kind) {
    case 'webhook':
      return {
        'webhook-id': id,
        'webhook-timestamp': seconds,
        'webhook-signature': new Webhook(secret ?? signingSecret).sign(id, at, body),
      };
    case 'slack': {
      const mac = createHmac('sha256', secret ?? slackSecret)
        .update(`v0:${seconds}:${body}`)
        .digest('hex');
      return { 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${mac}` };
    }
    case 'telegram':
      return { 'x-telegram-bot-api-secret-token': secret ?? '' };
    case 'discord': {
      const key: KeyObject = secret === undefined ? keys.privateKey : generateKeyPairSync('ed25519').privateKey;
      const signature = signBytes(null, Buffer.from(seconds + body), key).toString('hex');
      return { 'x-signature-ed25519': signature, 'x-signature-timestamp': seconds };
    }
    default:
      return kind satisfies never;
  }
}

let serial = 0;

/** A message as its service would send it. */
export function messageOf(
  kind: TestKind,
  text: string,
  { sender = 'U1', thread = 'C1', n = (serial += 1) }: { sender?: string; thread?: string; n?: number } = {},
) {
  switch (kind) {
    case 'webhook':
      return { thread_id: thread, user: { id: sender, name: 'Ada' }, text };
    case 'slack':
      return {
        type: 'event_callback',
        team_id: 'T1TEAM',
        event_id: `Ev${n}`,
        authorizations: [{ user_id: 'UBOT', is_bot: true }],
        event: { type: 'message', channel: thread, channel_type: 'im', user: sender, text, ts: `1700000000.${String(n).padStart(6, '0')}` },
      };
    case 'telegram':
      return {
        update_id: n,
        message: {
          message_id: n,
          from: { id: sender, is_bot: false, first_name: 'Ada' },
          chat: { id: thread, type: 'private' },
          date: 1_700_000_000,
          text,
        },
      };
    case 'discord':
      return {
        type: 2,
        id: String(10_000 + n),
        application_id: '123456',
        token: `token-${n}`,
        channel_id: thread,
        member: { user: { id: sender, username: 'ada' } },
        data: { name: 'ask', options: [{ name: 'message', type: 3, value: text }] },
      };
    default:
      return kind satisfies never;
  }
}

/** Delivers a message of a scene's service, signed. */
export function deliver(world: World, scene: ChannelScene, value: unknown, options: Signing & Sent = {}): Promise<Answer> {
  const body = JSON.stringify(value);
  return post(world, scene.path, body, { ...options, headers: { ...proofOf(scene.kind, body, options), ...options.headers } });
}
