import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { createMailer } from '../../ports/mail.ts';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-mails-'));
const from = 'Longhaul <us@example.org>';
const mail = {
  id: '0190163d-8694-739b-aea5-966c26f8ad91',
  to: 'reader@example.test',
  subject: 'Grüße from A & B',
  text: 'Hello,\n\nthe token is lh_ml_0123456789012345678901234567890123456789012, ädieu.',
  html: '<p>Hello,</p>',
};
let server: MailServer | null = null;

afterEach(async () => {
  await server?.close();
  server = null;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bySmtp = (url: string) => createMailer({ kind: 'smtp', url, from, linkUrl: null });
const faultOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error);

test('by SMTP a mail arrives as text and HTML, its Message-ID made of its id, marked as nobody to be answered', async () => {
  server = await startMailServer();

  expect(await bySmtp(server.url).send(mail, AbortSignal.timeout(60_000))).toEqual({ isTaken: true });

  const [taken] = server.mails;
  expect(taken).toMatchObject({ subject: mail.subject, messageId: `<${mail.id}@example.org>`, html: mail.html });
  expect(taken?.text?.trim()).toBe(mail.text);
  expect([taken?.headers.get('auto-submitted'), server.recipients]).toEqual(['auto-generated', ['reader@example.test']]);
});

test.each([
  ['recipient', 550],
  ['sender', 553],
  ['content', 554],
] as const)('a mail server that refuses the %s with %i has the last word', async (stage, code) => {
  server = await startMailServer();
  server.refuse = { stage, code };

  expect(await bySmtp(server.url).send(mail, AbortSignal.timeout(60_000))).toEqual({ isTaken: false, code });
});

test.each([
  ['recipient', 450],
  ['content', 451],
  ['login', 535],
] as const)('a refusal of the %s with %i leaves room for another try, and says nothing of the address', async (stage, code) => {
  server = await startMailServer();
  server.refuse = { stage, code };

  const fault = await faultOf(bySmtp(server.url.replace('smtp://', 'smtp://u:canary@')).send(mail, AbortSignal.timeout(60_000)));

  expect(fault).toMatchObject({ code: 'upstream_failed', retryable: true, context: { smtp_code: code } });
  expect(JSON.stringify([fault, String(fault)])).not.toMatch(/reader|canary/);
});

test('a mail server that is away or silent is left for another try within seconds', async () => {
  const silent: Server = createServer((socket) => socket.unref()).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as AddressInfo;
  const startedAt = Date.now();

  const faults = await Promise.all([
    faultOf(bySmtp('smtp://127.0.0.1:1').send(mail, AbortSignal.timeout(60_000))),
    faultOf(bySmtp(`smtp://127.0.0.1:${port}`).send(mail, AbortSignal.timeout(60_000))),
  ]);

  silent.close();
  expect(faults).toMatchObject([{ code: 'upstream_failed' }, { code: 'upstream_timeout' }]);
  expect(Date.now() - startedAt).toBeLessThan(15_000);
});

test('in a folder a mail is one file that people can read and mail programs open; a second try writes the same one', async () => {
  const mailer = createMailer({ kind: 'folder', folder: join(folder, 'new'), from, linkUrl: null });

  await mailer.send(mail, AbortSignal.timeout(60_000));
  await mailer.send(mail, AbortSignal.timeout(60_000));

  const [file = '', ...more] = readdirSync(join(folder, 'new'));
  const text = readFileSync(join(folder, 'new', file), 'utf8');
  expect([file, more]).toEqual([`${mail.id}.eml`, []]);
  expect(text).toContain(mail.text);
  expect(statSync(join(folder, 'new', file)).mode & 0o777).toBe(0o600);
  expect(await simpleParser(text)).toMatchObject({
    subject: mail.subject,
    messageId: `<${mail.id}@example.org>`,
    to: { value: [{ address: mail.to }] },
  });
});

test('a name in a subject never becomes a header of its own', async () => {
  server = await startMailServer();
  const evil = { ...mail, subject: 'Invitation to A\r\nBcc: victim@example.test\r\n\r\nBody' };

  await bySmtp(server.url).send(evil, AbortSignal.timeout(60_000));
  await createMailer({ kind: 'folder', folder, from, linkUrl: null }).send(evil, AbortSignal.timeout(60_000));

  const parsed = [server.mails[0], await simpleParser(readFileSync(join(folder, `${mail.id}.eml`)))];
  expect(parsed.map((each) => each?.bcc)).toEqual([undefined, undefined]);
  expect(server.recipients).toEqual([mail.to]);
});

test('a folder that cannot be written is left for another try', async () => {
  writeFileSync(join(folder, 'file'), '');
  const mailer = createMailer({ kind: 'folder', folder: join(folder, 'file', 'x'), from, linkUrl: null });

  expect(await faultOf(mailer.send(mail, AbortSignal.timeout(60_000)))).toMatchObject({ code: 'upstream_failed', retryable: true });
});
