import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { createTransport } from 'nodemailer';
import { work, type ReadMail } from '../../../ports/channels/mail-work.ts';
import { readEmail } from '../../../ports/channels/read-email.ts';

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/mail/${name}.eml`, import.meta.url));

async function read(raw: Uint8Array | string, isPlain = false): Promise<ReadMail> {
  const result = await work({ kind: 'read', raw: typeof raw === 'string' ? Buffer.from(raw) : raw, isPlain });
  if (result.kind !== 'read') throw new Error('not read');
  return result.mail;
}

/** A mail by hand, CRLF as on the wire. */
const mailOf = (headers: readonly string[], body = 'Hello') => [...headers, '', body, ''].join('\r\n');
const from = 'From: Ada <ada@mail.example>';

const longLine = `Zweite Zeile: ${'lang '.repeat(40)}Ende.`;
test.each([
  ['python-utf8-qp', 'Größe & Maß', `Grüße aus Köln — € 5.\n${longLine}`],
  ['python-utf8-base64', 'Base64 ✓', 'Привет, 世界! 😀'],
  ['python-iso-2022-jp', '返金のお願い', 'こんにちは。返金をお願いします。'],
  ['python-cp1252-8bit', 'cp1252', 'Price: 5 € – “quoted”'],
  ['python-flowed', 'Flowed', 'This paragraph is one that was broken by its client and belongs together.\n\nFrom stuffed.\n-- \nAda'],
  ['python-html-only', 'HTML', 'Where is **my** order?\n\n-   one'],
])('%s is read as it was written', async (name, subject, text) => {
  const mail = await read(fixture(name));

  expect([mail.subject, mail.text]).toEqual([subject, text]);
  expect(mail.messageId).toMatch(/^<[\w-]+@mail\.example>$/);
});

test.each([
  ['talon-gmail', 'Hello'],
  ['talon-outlook', 'Hello'],
  ['talon-apple_mail', 'Hello'],
  ['talon-iphone', 'Hello'],
  ['talon-yahoo', 'Hello'],
  ['talon-hotmail', 'Hello'],
  ['talon-aol', 'Hello'],
  ['talon-comcast', 'Hello'],
])('what %s quotes is told apart from what was written', async (name, said) => {
  const mail = await read(fixture(name));

  expect(mail.text.length).toBeGreaterThan(mail.newText.length);
  expect(mail.newText).toBe(said);
});

test.each([
  // An answer right under a flowed quotation, which the parser joins with it; a line that introduces a quotation in Russian.
  ['talon-thunderbird', ''],
  ['talon-android', 'Hello\n02.04.2012 14:20 пользователь "bob@xxx.mailgun.org" <\nbob@xxx.mailgun.org> написал:'],
])('what is not told apart in %s is not lost: the whole text is there', async (name, said) => {
  const mail = await read(fixture(name));

  expect(mail.text).toContain('Hello');
  expect(mail.newText).toBe(said);
});

test('attachments come before pictures of the text, with their names and bytes', async () => {
  const { files, references, inReplyTo, text } = await read(fixture('python-attachments'));

  expect(text).toBe('See both files.');
  expect(files.map(({ name, mediaType }) => [name, mediaType])).toEqual([
    ['Übersicht 2026.csv', 'text/csv'],
    ['shot.png', 'image/png'],
  ]);
  expect(
    Buffer.from(files[0]?.bytes ?? [])
      .toString()
      .trim(),
  ).toBe('a,b\n1,2');
  expect([references, inReplyTo]).toEqual([['<root@mail.example>', '<second@mail.example>'], ['<second@mail.example>']]);
});

test('a mail of nodemailer with a forwarded mail keeps that as a file', async () => {
  const inner = mailOf([from, 'Subject: Inner'], 'inner words');
  const made = await createTransport({ streamTransport: true, buffer: true }).sendMail({
    from: 'Ada <ada@mail.example>',
    to: 'desk@agents.example',
    subject: 'Fwd',
    text: 'outer words',
    attachments: [{ contentType: 'message/rfc822', content: inner }],
  });

  const mail = await read(made.message as Buffer); // `buffer: true` gives one

  expect(mail.text).toBe('outer words');
  expect(mail.files.map(({ mediaType }) => mediaType)).toEqual(['message/rfc822']);
});

test.each([
  [['Auto-Submitted: auto-replied'], 'auto_reply'],
  [['Auto-Submitted: auto-replied (rejected)'], 'auto_reply'],
  [['Auto-Submitted: AUTO-GENERATED; owner-email="x@y.test"'], 'auto_generated'],
  [['Auto-Submitted: no'], null],
  [['X-Autoreply: yes'], 'auto_reply'],
  [['Return-Path: <>'], 'bounce'],
  [['Content-Type: multipart/report; report-type=delivery-status; boundary=x'], 'bounce'],
  [['Precedence: bulk'], 'bulk'],
  [['Precedence: List'], 'bulk'],
  [['List-Id: <dev.lists.example>'], 'mailing_list'],
  [['List-Unsubscribe: <https://lists.example/u>'], 'mailing_list'],
  [['Return-Path: <ada@mail.example>', 'Precedence: normal'], null],
])('%j: %s', async (headers, reason) => {
  expect((await read(mailOf([from, ...headers]))).autoReason).toBe(reason);
});

test('a notice of an undeliverable mail, written by a mail server, is a bounce', async () => {
  expect((await read(mailOf(['From: MAILER-DAEMON@mx.example (Mail Delivery System)', 'Subject: Undelivered']))).autoReason).toBe('bounce');
});

test.each([
  ['no author', []],
  ['two headers', [from, 'From: eve@evil.test']],
  ['two authors', ['From: ada@mail.example, eve@evil.test']],
  ['a group', ['From: Team: ada@mail.example, eve@evil.test;']],
  ['no address', ['From: Ada']],
])('%s: nobody is taken for the author', async (_what, headers) => {
  expect((await read(mailOf([...headers, 'Subject: x']))).from).toBeNull();
});

test('a name that looks like an address is a name', async () => {
  expect((await read(mailOf(['From: "boss@mail.example" <Eve@Evil.test>']))).from).toEqual({
    address: 'eve@evil.test',
    name: 'boss@mail.example',
  });
});

const settings = { address: 'desk@agents.example' };
const judge = async (headers: readonly string[], isAuthentic = true) => {
  const raw = Buffer.from(mailOf(headers));
  const mail = await read(raw);
  if (!mail.from) throw new Error('no author');
  return readEmail({ mail: { ...mail, from: mail.from }, raw, isAuthentic, files: [], leftOut: [] }, settings);
};
const id = (name: string) => `<${name}@mail.example>`;

test.each([
  [
    'References, its first',
    ['References: <a@mail.example> <b@mail.example>', 'In-Reply-To: <b@mail.example>'],
    id('a'),
    [id('b'), id('a')],
  ],
  ['else In-Reply-To', ['In-Reply-To: <b@mail.example>'], id('b'), [id('b')]],
  ['else itself', [], id('own'), undefined],
])('a thread begins with %s', async (_what, headers, thread, answered) => {
  const message = await judge([from, 'Message-ID: <own@mail.example>', ...headers]);

  expect([message.externalId, message.threadId, message.reply?.to]).toEqual([id('own'), thread, answered]);
});

test('an answer goes to the author and never where Reply-To says, and refers to all before it', async () => {
  const message = await judge([
    from,
    'Reply-To: victim@elsewhere.test',
    'Subject: Refund',
    'Message-ID: <own@mail.example>',
    'References: <a@mail.example>',
  ]);

  expect(message.route).toEqual({ to: 'ada@mail.example', subject: 'Re: Refund', message_id: id('own'), references: id('a') });
});

test('a mail without Message-ID is known by its bytes; one whose author is not proven takes no id', async () => {
  const [nameless, unproven] = [await judge([from]), await judge([from, 'Message-ID: <own@mail.example>'], false)];

  expect(nameless.externalId).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect([unproven.externalId, unproven.refusal]).toEqual([expect.stringMatching(/^unauthenticated:/), 'unauthenticated']);
});

test.each([
  ['to it', ['To: Desk <Desk+tickets@Agents.example>'], true],
  ['a copy', ['To: bob@mail.example', 'Cc: desk@agents.example'], false],
  ['unseen', ['To: bob@mail.example'], true],
])('%s: addressed %s', async (_what, headers, isAddressed) => {
  expect((await judge([from, ...headers])).isAddressed).toBe(isAddressed);
});

test('a subject can not become a header, and a mail of the channel itself is its own', async () => {
  const message = await judge(['From: desk@agents.example', 'Subject: =?utf-8?Q?a=0D=0ABcc:_x@y.test?=']);

  expect([message.route['subject'], message.sender.isSelf]).toEqual(['Re: a Bcc: x@y.test', true]);
});
