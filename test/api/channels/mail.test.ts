import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { startNameServer, type NameServer } from '../../fakes/name-server.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { deliver, makeChannel } from './channel-calls.ts';
import {
  deliverMail,
  deliverRaw,
  dkimRecord,
  emailKind,
  inboundToken,
  makeMailChannel,
  relay,
  writeMail,
  type MailScene,
} from './mail-calls.ts';

let names: NameServer;
let world: World;
let second: TestApi;

beforeAll(async () => {
  names = await startNameServer();
  const env = { MAIL_DNS_SERVERS: names.address };
  world = await openWorld({ env });
  second = await startApi({ env, database: world.api.database, keys: world.api.keys, redisPrefix: world.api.redisPrefix });
});
afterAll(async () => {
  await second?.close();
  await world?.close();
  await names?.close();
});

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const messagesOf = ({ id }: MailScene) =>
  sql<{ external_id: string; status: string; reason: string | null; run_id: string | null; text: string; thread_id: string }>(
    'select external_id, status, reason, run_id, text, thread_id from channel_messages where channel_id = ? order by id',
    [id],
  );
const runsOf = ({ id }: MailScene) =>
  sql<{
    id: string;
    session_key: string;
    subject_id: string;
    input: { text: string; attachments?: { attachment_id: string }[] };
    untrusted: boolean;
  }>('select id, session_key, subject_id, input, untrusted from runs where trigger_id = ? order by id', [id]);
const id = (name: string) => `<${name}@mail.example>`;

test.each([
  ['no address', { settings: { smtp: emailKind.settings.smtp } }, '/settings/address', 'required'],
  ['a server that is none', { settings: { ...emailKind.settings, smtp: 'smtp://x' } }, '/settings/smtp', 'pattern'],
  [
    'a setting too many',
    { settings: { ...emailKind.settings, smtp: { ...emailKind.settings.smtp, pass: 'x' } } },
    '/settings/smtp',
    'pattern',
  ],
  [
    'a private server',
    { settings: { ...emailKind.settings, smtp: { ...emailKind.settings.smtp, host: '10.0.0.1' } } },
    '/settings/smtp',
    'egress',
  ],
  [
    'a port of something else',
    { settings: { ...emailKind.settings, smtp: { ...emailKind.settings.smtp, port: 6379 } } },
    '/settings/smtp',
    'egress',
  ],
  [
    'a password in the clear',
    { settings: { ...emailKind.settings, smtp: { ...emailKind.settings.smtp, tls: false } } },
    '/settings/smtp/tls',
    'egress',
  ],
  [
    'a switch that is none',
    { settings: { ...emailKind.settings, require_authenticated: 'no' } },
    '/settings/require_authenticated',
    'pattern',
  ],
  ['no password', { secrets: { inbound_token: inboundToken } }, '/secrets/smtp_password', 'required'],
  ['a short token', { secrets: { ...emailKind.secrets, inbound_token: 'short' } }, '/secrets/inbound_token', 'minLength'],
])('%s is refused', async (_what, wrong, pointer, rule) => {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);

  const body = { kind: 'email', name: 'Desk', agent_id: agent.id, ...emailKind, ...wrong };
  const refused = await world.call(tenant.tokens.admin, 'POST', '/channels', { body });

  expect([refused.status, refused.body.errors?.[0]]).toEqual([422, expect.objectContaining({ pointer, rule })]);
});

test('a mail starts one run, for its author as a guest, in the conversation of its thread', async () => {
  const scene = await makeMailChannel(world);

  const answer = await relay(
    world,
    scene,
    await writeMail({ id: id('first'), from: 'Ada <Ada@Mail.Example>', text: 'Where is my refund?' }),
  );

  expect([answer.status, answer.body]).toEqual([200, {}]);
  const [run, ...more] = await runsOf(scene);
  expect(more).toEqual([]);
  expect(run).toMatchObject({
    session_key: `channel:${scene.id}:${id('first')}`,
    subject_id: 'email:ada@mail.example',
    input: { text: 'Subject: Refund\n\nWhere is my refund?' },
    untrusted: true,
  });
  expect(await messagesOf(scene)).toEqual([expect.objectContaining({ external_id: id('first'), status: 'received', run_id: run?.id })]);
});

test('the same mail again changes nothing, ten times at once over two API processes', async () => {
  const scene = await makeMailChannel(world);
  const body = JSON.stringify({ raw: (await writeMail()).toString(), spf: { result: 'pass', domain: 'mail.example' } });

  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => deliverMail(world, scene, body, { api: n % 2 === 0 ? world.api : second })),
  );
  const last = await deliverMail(world, scene, body);

  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  expect([last.status, (await messagesOf(scene)).length, (await runsOf(scene)).length]).toEqual([200, 1, 1]);
});

test('another token, none, and that of another channel are 401, and leave nothing', async () => {
  const [scene, other] = [
    await makeMailChannel(world),
    await makeMailChannel(world, { secrets: { ...emailKind.secrets, inbound_token: 'the-token-of-another' } }),
  ];
  const raw = await writeMail();

  const statuses = [
    (await deliverRaw(world, scene, raw, { headers: { 'x-webhook-token': 'wrong' } })).status,
    (await deliverRaw(world, scene, raw, { headers: { 'x-webhook-token': '' } })).status,
    (await deliverRaw(world, other, raw)).status,
  ];

  expect(statuses).toEqual([401, 401, 401]);
  expect([...(await messagesOf(scene)), ...(await messagesOf(other))]).toEqual([]);
});

test('a mail whose author nobody proves is kept and not answered, and takes nobody’s id', async () => {
  const scene = await makeMailChannel(world);
  const raw = await writeMail({ id: id('known') });

  const statuses = [
    (await deliverRaw(world, scene, raw)).status,
    (await relay(world, scene, raw, { spf: { result: 'pass', domain: 'evil.test' } })).status,
    (await relay(world, scene, raw, { spf: 'fail', dkim: 'none' })).status,
  ];
  const before = await messagesOf(scene);
  await relay(world, scene, raw);

  expect([statuses, before.map(({ status, reason }) => [status, reason])]).toEqual([[200, 200, 200], [['ignored', 'unauthenticated']]]);
  expect((await messagesOf(scene)).map(({ status }) => status)).toEqual(['ignored', 'received']);
});

test('a channel that asks for no proof answers all', async () => {
  const scene = await makeMailChannel(world, { settings: { require_authenticated: false } });

  await deliverRaw(world, scene, await writeMail());

  expect(await runsOf(scene)).toHaveLength(1);
});

test('a signature of the author’s domain is verified with the key that the domain publishes', async () => {
  const scene = await makeMailChannel(world);
  names.txt.set('s1._domainkey.signed.example', [dkimRecord]);
  const from = 'ada@signed.example';
  const good = await writeMail({ from, signedBy: 'signed.example' });
  const changed = Buffer.from((await writeMail({ from, signedBy: 'signed.example' })).toString().replace('my refund', 'our refund'));
  const foreign = await writeMail({ from, signedBy: 'evil.test' });

  for (const raw of [good, changed, foreign]) await deliverRaw(world, scene, raw);

  expect((await messagesOf(scene)).map(({ status, reason }) => reason ?? status)).toEqual([
    'received',
    'unauthenticated',
    'unauthenticated',
  ]);
  expect(names.asked).not.toContain('s1._domainkey.evil.test');
});

test('while nobody tells a key the relay is asked to come again, and nothing is kept', async () => {
  const scene = await makeMailChannel(world);
  names.txt.set('s1._domainkey.late.example', [dkimRecord]);
  const raw = await writeMail({ from: 'ada@late.example', signedBy: 'late.example' });

  names.isSilent = true;
  const early = await deliverRaw(world, scene, raw);
  names.isSilent = false;
  const kept = await messagesOf(scene);
  const late = await deliverRaw(world, scene, raw);

  expect([early.status, early.body.context.reason, kept, late.status]).toEqual([503, 'dkim_key_unknown', [], 200]);
  expect(await runsOf(scene)).toHaveLength(1);
});

test.each([
  ['an absence assistant', { 'Auto-Submitted': 'auto-replied' }, 'auto_reply'],
  ['a list', { 'List-Id': '<dev.lists.example>' }, 'mailing_list'],
  ['bulk mail', { Precedence: 'bulk' }, 'bulk'],
  ['a notice of delivery', { 'Return-Path': '<>' }, 'bounce'],
  ['a machine', { 'Auto-Submitted': 'auto-generated' }, 'bot'],
])('%s is kept and not answered', async (_what, headers, reason) => {
  const scene = await makeMailChannel(world);

  await relay(world, scene, await writeMail({ headers }));

  expect((await messagesOf(scene)).map((message) => [message.status, message.reason])).toEqual([['ignored', reason]]);
  expect(await runsOf(scene)).toEqual([]);
});

test('a machine that allowed_bots names is answered three times in a row; a list never is', async () => {
  const scene = await makeMailChannel(world, { allowed_bots: ['*@mail.example'] });
  const headers = { 'Auto-Submitted': 'auto-generated' };

  for (let n = 0; n < 4; n += 1) await relay(world, scene, await writeMail({ headers, references: [id('thread')] }));
  await relay(world, scene, await writeMail({ headers: { ...headers, 'List-Id': '<x.example>' } }));

  expect((await messagesOf(scene)).map(({ status, reason }) => reason ?? status)).toEqual([
    'received',
    'received',
    'received',
    'bots_in_a_row',
    'mailing_list',
  ]);
});

test('the channel’s own mails, strangers and copies are not answered', async () => {
  const scene = await makeMailChannel(world, { allowed_senders: ['*@MAIL.example', 'Bob@Friend.example'] });
  const asVouched = (domain: string) => ({ spf: { result: 'pass', domain } });

  await relay(world, scene, await writeMail({ from: 'desk@agents.example' }), asVouched('agents.example'));
  await relay(world, scene, await writeMail({ from: 'eve@other.example' }), asVouched('other.example'));
  await relay(world, scene, await writeMail({ to: 'carol@mail.example', headers: { Cc: 'desk@agents.example' } }));
  await relay(world, scene, await writeMail({ from: 'bob@friend.example' }), asVouched('friend.example'));
  await relay(world, scene, await writeMail());

  expect((await messagesOf(scene)).map(({ status, reason }) => reason ?? status)).toEqual([
    'own_message',
    'sender_not_allowed',
    'not_addressed',
    'received',
    'received',
  ]);
});

const quoting = (said: string) =>
  `${said}\n\nOn Mon, Nov 30, 2026 at 10:00 AM Desk <desk@agents.example> wrote:\n\n> Your refund is on its way.\n`;

test('an answer lies in the thread of what it answers, by any id of it, and its author’s conversation has the quotation already', async () => {
  const scene = await makeMailChannel(world);
  await relay(world, scene, await writeMail({ id: id('root') }));
  const [first] = await messagesOf(scene);
  const partId = newId();
  await sql(
    `insert into channel_outbound (id, organization_id, workspace_id, channel_id, message_id, run_id, thread_id, kind, part, text, state)
     select ?, organization_id, workspace_id, channel_id, id, run_id, thread_id, 'reply', 0, 'x', 'sent' from channel_messages where channel_id = ?`,
    [partId, scene.id],
  );

  await relay(world, scene, await writeMail({ references: [id('root')], text: quoting('By References.') }));
  await relay(world, scene, await writeMail({ references: [`<${partId}@agents.example>`], text: quoting('By our own id.') }));
  await relay(world, scene, await writeMail({ from: 'bob@mail.example', references: [id('root')], text: quoting('From another.') }));
  await relay(world, scene, await writeMail({ references: [id('unknown')], text: quoting('Of another thread.') }));

  const later = (await messagesOf(scene)).slice(1);
  expect(later.map(({ thread_id }) => thread_id)).toEqual([first?.thread_id, first?.thread_id, first?.thread_id, id('unknown')]);
  expect(later.map(({ text }) => text.includes('on its way'))).toEqual([false, false, true, true]);
  expect(later.map(({ text }) => text).slice(0, 2)).toEqual(['By References.', 'By our own id.']);
});

test('files become attachments that are there at once; a program is left out, and named', async () => {
  const scene = await makeMailChannel(world);
  const attachments = [
    { filename: 'prices.csv', content: 'a,b\n1,2\n' },
    { filename: 'setup.exe', content: Buffer.concat([Buffer.from('MZ'), Buffer.alloc(600)]) },
  ];

  await relay(world, scene, await writeMail({ attachments, text: 'See the files.' }));

  const [run] = await runsOf(scene);
  expect(run?.input).toMatchObject({
    text: 'Subject: Refund\n\nSee the files.\n\n[Files that were left out: setup.exe]',
    attachments: [{ name: 'prices.csv', media_type: 'text/csv' }],
  });
  const [row, ...more] = await sql<{ state: string; storage_key: string; size_bytes: number }>(
    'select state, storage_key, size_bytes::int from attachments where organization_id = ?',
    [scene.tenant.organizationId],
  );
  expect([row?.state, more]).toEqual(['ready', []]);
  const read = await world.api.app.inject({
    url: `/attachments/${run?.input.attachments?.[0]?.attachment_id ?? ''}`,
    headers: { authorization: `Bearer ${scene.tenant.tokens.admin}` },
  });
  expect([read.statusCode, read.body.trim(), read.body.length]).toEqual([200, 'a,b\n1,2', row?.size_bytes]);
});

test('files of a mail that is not answered are not kept', async () => {
  const scene = await makeMailChannel(world);
  const attachments = [{ filename: 'a.csv', content: 'a,b\n' }];

  await deliverRaw(world, scene, await writeMail({ attachments }));
  await relay(world, scene, await writeMail({ attachments, headers: { Precedence: 'bulk' } }));

  expect(await sql('select id from attachments where organization_id = ?', [scene.tenant.organizationId])).toEqual([]);
});

test('a mail may have 10 MiB, what other kinds send one', async () => {
  const [mail, desk] = [await makeMailChannel(world, { settings: { require_authenticated: false } }), await makeChannel(world, 'webhook')];
  const large = await writeMail({ attachments: [{ filename: 'large.txt', content: 'word '.repeat(1_300_000) }] });

  const statuses = {
    large: (await deliverRaw(world, mail, large)).status,
    tooLarge: (await deliverRaw(world, mail, Buffer.alloc(10_485_761, 'a'))).status,
    desk: (await deliver(world, desk, { thread_id: 't', user: { id: 'u' }, text: 'x', padding: 'x'.repeat(1_100_000) })).status,
  };

  expect(large.length).toBeGreaterThan(8_000_000);
  expect(statuses).toEqual({ large: 200, tooLarge: 413, desk: 413 });
});

const nested = (depth: number) =>
  [
    'From: ada@mail.example',
    ...Array.from({ length: depth }, (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}`),
    '',
    'deep',
  ].join('\r\n');

test.each([
  ['no author', 'Subject: x\r\n\r\nHello', '/raw', 'author'],
  ['parts in parts without end', nested(300), '/raw', 'malformed'],
  ['nothing at all', '', '/raw', 'author'],
])('%s is 422, and leaves nothing', async (_what, raw, pointer, rule) => {
  const scene = await makeMailChannel(world);

  const refused = await deliverMail(world, scene, JSON.stringify({ raw, spf: 'pass' }));

  expect([refused.status, refused.body.errors?.[0]]).toEqual([422, expect.objectContaining({ pointer, rule })]);
  expect(await messagesOf(scene)).toEqual([]);
});

test.each([
  ['no JSON', 'x', 400],
  ['a list', '[]', 422],
  ['no raw', '{}', 422],
  ['raw that is no text', '{"raw":{}}', 422],
])('%s in the name of a relay: %i', async (_what, body, status) => {
  const scene = await makeMailChannel(world);

  expect((await deliverMail(world, scene, body)).status).toBe(status);
});

test('a hook takes no mails as a channel does', async () => {
  const scene = await makeMailChannel(world);

  const text = await deliverMail(world, scene, 'From: ada@mail.example\r\n\r\nHello', { headers: { 'content-type': 'text/plain' } });
  const hook = await world.api.app.inject({
    method: 'POST',
    url: `/hooks/${scene.tenant.workspaceId}/none`,
    headers: { 'content-type': 'message/rfc822' },
    payload: 'x',
  });

  expect([text.status, hook.statusCode]).toEqual([415, 415]);
});
