import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isValidSlackRequest } from '@slack/bolt';
import { verifyKey } from 'discord-interactions';
import { Bot, webhookCallback } from 'grammy';
import nacl from 'tweetnacl';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findChannel, secretsOfFound } from '../../../db/channels/open-channel.ts';
import { openWorld, type World } from '../world.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { makeChannel, messageOf, post, slackSecret, type ChannelScene } from './channel-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

/** A request as it arrives, and what the libraries of its service make of it. */
interface Case {
  readonly what: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isValid: boolean;
  /** The library knows no such rule; ours is stricter. */
  readonly isOursAlone?: boolean;
}

const messagesOf = ({ id }: ChannelScene) => sqlOf(world)('select id from channel_messages where channel_id = ?', [id]);
const seconds = (offset = 0) => String(Math.floor(Date.now() / 1_000) + offset);
const withByte = (body: string, at: number) => `${body.slice(0, at)}${body[at] === 'x' ? 'y' : 'x'}${body.slice(at + 1)}`;

/** Our verdict of each case, by HTTP, beside the library's. */
async function judgeAll(scene: ChannelScene, cases: readonly Case[], foreign: (one: Case) => Promise<boolean> | boolean) {
  const verdicts = [];
  for (const one of cases) {
    const { status } = await post(world, scene.path, one.body, { headers: one.headers });
    verdicts.push({ what: one.what, ours: status, foreign: await foreign(one) });
  }
  return verdicts;
}

const expectedOf = (cases: readonly Case[]) =>
  cases.map(({ what, isValid, isOursAlone }) => ({ what, ours: isValid ? 200 : 401, foreign: isValid || isOursAlone === true }));

test('Slack: what @slack/bolt takes is taken, and what it refuses is refused', async () => {
  const scene = await makeChannel(world, 'slack');
  const body = JSON.stringify(messageOf('slack', 'Hello from Slack'));
  const sign = (text: string, at: string, secret: string = slackSecret) =>
    `v0=${createHmac('sha256', secret).update(`v0:${at}:${text}`).digest('hex')}`;
  const headersOf = (at: string, signature: string) => ({ 'x-slack-request-timestamp': at, 'x-slack-signature': signature });
  // Read once: the clock's second may end between two readings.
  const now = seconds();
  const stale = String(Number(now) - 310);
  const good = sign(body, now);
  const cases: Case[] = [
    { what: 'signed', body, headers: headersOf(now, good), isValid: true },
    { what: 'one byte of the body', body: withByte(body, body.indexOf('Hello')), headers: headersOf(now, good), isValid: false },
    { what: 'one digit of the signature', body, headers: headersOf(now, withByte(good, 20)), isValid: false },
    { what: 'another time', body, headers: headersOf(String(Number(now) - 1), good), isValid: false },
    { what: 'another secret', body, headers: headersOf(now, sign(body, now, 'another-secret')), isValid: false },
    { what: 'another version', body, headers: headersOf(now, good.replace('v0', 'v1')), isValid: false },
    { what: 'stale', body, headers: headersOf(stale, sign(body, stale)), isValid: false },
    { what: 'not yet', body, headers: headersOf(seconds(310), sign(body, seconds(310))), isValid: false, isOursAlone: true },
  ];

  const verdicts = await judgeAll(scene, cases, ({ body: text, headers }) =>
    isValidSlackRequest({
      signingSecret: slackSecret,
      body: text,
      headers: {
        'x-slack-signature': headers['x-slack-signature'] ?? '',
        'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
      },
    }),
  );

  expect(verdicts).toEqual(expectedOf(cases));
  expect(await messagesOf(scene)).toHaveLength(1);
});

test('Discord: signed by tweetnacl, what discord-interactions takes is taken, and what it refuses is refused', async () => {
  const pair = nacl.sign.keyPair();
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const publicKey = hex(pair.publicKey);
  const scene = await makeChannel(world, 'discord', { settings: { application_id: '123456', public_key: publicKey } });
  const body = JSON.stringify(messageOf('discord', 'Hello from Discord'));
  const sign = (text: string, at: string, key = pair.secretKey) => hex(nacl.sign.detached(Buffer.from(at + text), key));
  const headersOf = (at: string, signature: string) => ({ 'x-signature-timestamp': at, 'x-signature-ed25519': signature });
  // Read once: the clock's second may end between two readings.
  const now = seconds();
  const stale = String(Number(now) - 310);
  const good = sign(body, now);
  const cases: Case[] = [
    { what: 'signed', body, headers: headersOf(now, good), isValid: true },
    { what: 'one byte of the body', body: withByte(body, body.indexOf('Hello')), headers: headersOf(now, good), isValid: false },
    { what: 'one digit of the signature', body, headers: headersOf(now, `${good[0] === '0' ? '1' : '0'}${good.slice(1)}`), isValid: false },
    { what: 'another time', body, headers: headersOf(String(Number(now) - 1), good), isValid: false },
    { what: 'another key', body, headers: headersOf(now, sign(body, now, nacl.sign.keyPair().secretKey)), isValid: false },
    { what: 'a signature that is too short', body, headers: headersOf(now, good.slice(2)), isValid: false },
    { what: 'stale', body, headers: headersOf(stale, sign(body, stale)), isValid: false, isOursAlone: true },
  ];

  const verdicts = await judgeAll(scene, cases, ({ body: text, headers }) =>
    verifyKey(text, headers['x-signature-ed25519'] ?? '', headers['x-signature-timestamp'] ?? '', publicKey),
  );

  expect(verdicts).toEqual(expectedOf(cases));
  expect(await messagesOf(scene)).toHaveLength(1);
});

let counterpart: Server;
let secretToken = '';

beforeAll(async () => {
  const botInfo = {
    id: 42,
    is_bot: true,
    first_name: 'Agent',
    username: 'agent_bot',
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
  } as never; // grammY asks for every new field of Telegram; it reads none of these here
  // A bot of grammY's that gets the same requests.
  counterpart = createServer((request, response) => {
    const bot = new Bot('42:good', { botInfo });
    void webhookCallback(bot, 'http', { secretToken })(request, response);
  });
  await new Promise<void>((resolve) => counterpart.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  counterpart?.closeAllConnections();
  counterpart?.close();
});

test('Telegram: what a bot of grammY takes is taken, and what it refuses is refused', async () => {
  const scene = await makeChannel(world, 'telegram');
  const found = await findChannel(world.api.db, scene.id);
  secretToken = found ? (secretsOfFound(found, world.api.keys)['webhook_secret'] ?? '') : '';
  const body = JSON.stringify(messageOf('telegram', 'Hello from Telegram'));
  const headerOf = (token: string) => ({ 'x-telegram-bot-api-secret-token': token });
  const cases: Case[] = [
    { what: 'the secret', body, headers: headerOf(secretToken), isValid: true },
    { what: 'one character', body, headers: headerOf(withByte(secretToken, 5)), isValid: false },
    { what: 'the secret and more', body, headers: headerOf(`${secretToken}x`), isValid: false },
    { what: 'a part of it', body, headers: headerOf(secretToken.slice(0, -1)), isValid: false },
    { what: 'another secret', body, headers: headerOf('another'), isValid: false },
    { what: 'none', body, headers: {}, isValid: false },
  ];
  const { port } = counterpart.address() as AddressInfo; // listening on TCP

  const verdicts = await judgeAll(scene, cases, async ({ body: text, headers }) => {
    const reply = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });
    await reply.arrayBuffer();
    return reply.status === 200;
  });

  expect(secretToken.length).toBeGreaterThan(30);
  expect(verdicts).toEqual(expectedOf(cases));
  expect(await messagesOf(scene)).toHaveLength(1);
});
