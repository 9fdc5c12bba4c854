import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, type Answer, type World } from '../world.ts';
import { post, type Sent } from './channel-calls.ts';

/** What a relay says beside the mail. */
export interface Said {
  readonly spf?: unknown;
  readonly dkim?: unknown;
}

export const inboundToken = 'relay-token-of-the-tests';
export const emailKind = {
  settings: { address: 'desk@agents.example', smtp: { host: 'smtp.agents.example', port: 587, tls: true, user: 'desk' } },
  secrets: { smtp_password: 'smtp-password', inbound_token: inboundToken },
} as const;

export interface MailScene {
  readonly tenant: TestTenant;
  readonly id: string;
  readonly path: string;
}

export async function makeMailChannel(
  world: World,
  { settings = {}, ...more }: Readonly<Record<string, unknown>> & { readonly settings?: object } = {},
): Promise<MailScene> {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const body = { kind: 'email', name: 'Desk', agent_id: agent.id, ...emailKind, ...more, settings: { ...emailKind.settings, ...settings } };
  const made = await world.call(tenant.tokens.admin, 'POST', '/channels', { body });
  if (made.status !== 201) throw new Error(`createChannel: ${made.status} ${JSON.stringify(made.body)}`);
  return { tenant, id: made.body.id, path: `/channels/${made.body.id}/inbound` };
}

const keys = generateKeyPairSync('rsa', { modulusLength: 2_048 });
/** What the domain of signed mails publishes. */
export const dkimRecord = `v=DKIM1; k=rsa; p=${keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`;

export interface Written {
  readonly from?: string;
  readonly to?: string;
  readonly subject?: string;
  readonly text?: string;
  readonly id?: string;
  readonly references?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly attachments?: readonly { readonly filename: string; readonly content: Buffer | string }[];
  /** Signed for this domain. */
  readonly signedBy?: string;
}

/** A mail as nodemailer writes it. */
export async function writeMail({ id = `<${randomUUID()}@mail.example>`, signedBy, ...written }: Written = {}): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const references = written.references ?? [];
  const { message } = await transport.sendMail({
    from: written.from ?? 'Ada <ada@mail.example>',
    to: written.to ?? 'desk@agents.example',
    subject: written.subject ?? 'Refund',
    text: written.text ?? 'Where is my refund?',
    messageId: id,
    headers: written.headers ?? {},
    ...(references.length === 0 ? {} : { references: [...references], inReplyTo: references.at(-1) }),
    attachments: [...(written.attachments ?? [])],
    ...(signedBy === undefined
      ? {}
      : {
          dkim: {
            domainName: signedBy,
            keySelector: 's1',
            privateKey: keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
          },
        }),
  });
  return message as Buffer; // `buffer: true` gives one
}

/** Delivers a mail as a relay that has found SPF to hold for the domain of its author. */
export function relay(
  world: World,
  scene: MailScene,
  raw: Buffer,
  said: Said = { spf: { result: 'pass', domain: 'mail.example' } },
): Promise<Answer> {
  return deliverMail(world, scene, JSON.stringify({ raw: raw.toString('base64'), ...said }));
}

export function deliverMail(world: World, scene: MailScene, body: string | Buffer, sent: Sent = {}): Promise<Answer> {
  return post(world, scene.path, body, { ...sent, headers: { 'x-webhook-token': inboundToken, ...sent.headers } });
}

/** The mail itself, as a relay delivers it that judges nothing. */
export function deliverRaw(world: World, scene: MailScene, raw: Buffer, sent: Sent = {}): Promise<Answer> {
  return deliverMail(world, scene, raw, { ...sent, headers: { 'content-type': 'message/rfc822', ...sent.headers } });
}
