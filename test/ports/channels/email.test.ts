import { createServer, type AddressInfo, type Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { lookup } from 'node:dns';
import { afterEach, expect, test } from '@jest/globals';
import { email } from '../../../ports/channels/email.ts';
import { partLimits } from '../../../ports/channels/limits.ts';
import type { ServiceDeps, ServicePart } from '../../../ports/channels/service.ts';
import { createEgress, type Egress, type EgressPolicy } from '../../../ports/egress/egress.ts';
import { startMailServer, type MailServer } from '../../fakes/mail-server.ts';
import { makeCertificate } from '../../support/certificates.ts';

let server: MailServer | null = null;
let raw: Server | null = null;
const egresses: Egress[] = [];

afterEach(async () => {
  await server?.close();
  raw?.close();
  [server, raw] = [null, null];
  await Promise.all(egresses.splice(0).map((egress) => egress.close()));
});

const opened = (port: number, host = '127.0.0.1'): EgressPolicy => ({ allowHttp: false, exceptions: [{ host, port, allow_http: true }] });

function depsOf(policy: EgressPolicy, { resolve, port }: { readonly resolve?: typeof lookup; readonly port?: number } = {}): ServiceDeps {
  const egress = createEgress(resolve ? { resolve } : {});
  egresses.push(egress);
  const connect: Egress['connect'] = (target) =>
    egress.connect(port === undefined ? target : { ...target, port, host: '127.0.0.1', policy: opened(port) });
  return {
    egress: { fetch: egress.fetch, connect },
    urls: { slack: '', telegram: '', discord: '' },
    policy,
    signal: AbortSignal.timeout(60_000),
  };
}

const channelOf = (port: number, { tls = false, host = '127.0.0.1' } = {}) => ({
  settings: { address: 'desk@agents.example', smtp: { host, port, tls, user: 'desk' } },
  secrets: { smtp_password: 'canary-password' },
});

const partId = '0190163d-8694-739b-aea5-966c26f8ad91';
const markdown =
  '# Refund\n\nYour **refund** is <b>here</b>:\n\n- one\n- two\n\n```js\nlet a = "<&>";\n```\n\n![x](https://tracker.example/pixel.png) [link](javascript:alert(1)) ✓';
const partOf = (more: Partial<ServicePart> = {}): ServicePart => ({
  id: partId,
  runId: partId,
  kind: 'reply',
  part: 0,
  text: markdown,
  rendered: partLimits.email.render(markdown),
  isPlain: false,
  route: {
    to: 'ada@mail.example',
    subject: 'Re: Refund',
    message_id: '<own@mail.example>',
    references: '<a@mail.example> <b@mail.example>',
  },
  token: null,
  hasButtons: true,
  hops: 0,
  since: new Date('2026-11-30T10:00:00Z'),
  file: null,
  files: [],
  ...more,
});

test('an answer is a mail in its thread, as text and HTML that loads nothing, marked as nobody to be answered', async () => {
  server = await startMailServer();

  const sent = await email.send(depsOf(opened(server.port)), channelOf(server.port), partOf());

  expect(sent).toEqual({ result: 'sent', externalId: `<${partId}@agents.example>` });
  const [mail] = server.mails;
  expect(mail).toMatchObject({
    subject: 'Re: Refund',
    messageId: `<${partId}@agents.example>`,
    inReplyTo: '<own@mail.example>',
    references: ['<a@mail.example>', '<b@mail.example>', '<own@mail.example>'],
    date: new Date('2026-11-30T10:00:00Z'),
  });
  expect([mail?.headers.get('auto-submitted'), mail?.headers.get('x-auto-response-suppress'), server.recipients]).toEqual([
    'auto-replied',
    'All',
    ['ada@mail.example'],
  ]);
  expect(mail?.text?.trim()).toBe(markdown);
  expect(mail?.html).toContain('<h1>Refund</h1>');
  expect(mail?.html).toContain('<strong>refund</strong> is &lt;b&gt;here&lt;/b&gt;');
  expect(mail?.html).toContain('<code class="language-js">let a = &quot;&lt;&amp;&gt;&quot;;');
  expect(mail?.html).not.toMatch(/<img|<b>|javascript:/);
  expect(server.logins).toEqual([{ user: 'desk', password: 'canary-password', isSecure: false }]);
});

test('another try is the same mail; plain text goes without HTML', async () => {
  server = await startMailServer();
  const [deps, channel] = [depsOf(opened(server.port)), channelOf(server.port)];

  await email.send(deps, channel, partOf());
  await email.send(deps, channel, partOf({ isPlain: true }));

  expect(server.mails.map(({ messageId, date, html }) => [messageId, date?.getTime(), html !== false])).toEqual([
    [`<${partId}@agents.example>`, 1_796_032_800_000, true],
    [`<${partId}@agents.example>`, 1_796_032_800_000, false],
  ]);
});

test.each([
  ['recipient', 550, { result: 'refused', error: 'SMTP 550' }],
  ['content', 554, { result: 'refused', error: 'SMTP 554' }],
  ['login', 535, { result: 'refused', error: 'SMTP 535' }],
  ['recipient', 451, { result: 'limited', retryAfterS: 300, error: 'SMTP 451' }],
  ['content', 452, { result: 'limited', retryAfterS: 300, error: 'SMTP 452' }],
] as const)('a server that answers the %s with %i decides, and its words are not repeated', async (stage, code, outcome) => {
  server = await startMailServer();
  server.refuse = { stage, code };

  expect(await email.send(depsOf(opened(server.port)), channelOf(server.port), partOf())).toEqual(outcome);
});

test('a server that is not there has surely got nothing; one that falls silent behind the content may have', async () => {
  raw = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('220 x\r\n');
    let hasContent = false;
    socket.on('data', (data) => {
      const said = data.toString();
      if (hasContent && said.endsWith('.\r\n')) socket.destroy();
      if (hasContent) return;
      hasContent = said.startsWith('DATA');
      if (said.startsWith('EHLO')) socket.write('250-x\r\n250 AUTH PLAIN\r\n');
      else socket.write(said.startsWith('DATA') ? '354 go\r\n' : said.startsWith('AUTH') ? '235 ok\r\n' : '250 ok\r\n');
    });
  });
  await new Promise<void>((resolve) => raw?.listen(0, '127.0.0.1', resolve));
  const { port } = raw.address() as AddressInfo;

  const cut = await email.send(depsOf(opened(port)), channelOf(port), partOf());
  raw.close();
  await new Promise((resolve) => raw?.on('close', resolve));
  const absent = await email.send(depsOf(opened(port)), channelOf(port), partOf());

  expect([cut.result, absent.result]).toEqual(['uncertain', 'failed']);
});

const certificate = makeCertificate('localhost');
const trusting = async (work: () => Promise<void>) => {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate.cert]);
  try {
    await work();
  } finally {
    setDefaultCACertificates(before);
  }
};

test.each([
  ['STARTTLS', false],
  ['from the first byte, on port 465', true],
] as const)('encrypted, %s: the password goes to a server whose certificate is trusted for its name', async (_how, isImplicit) => {
  server = await startMailServer({ ...certificate, isImplicit });
  const actual = server.port;
  const port = isImplicit ? 465 : actual;
  const send = (host: string) => email.send(depsOf(opened(port, host), { port: actual }), channelOf(port, { tls: true, host }), partOf());

  const untrusted = await send('localhost');
  const loginsBefore = server.logins.length;
  await trusting(async () => {
    const [sent, otherName] = [await send('localhost'), await send('mail.agents.example')];

    expect([untrusted.result, loginsBefore, sent.result, otherName.result]).toEqual(['failed', 0, 'sent', 'failed']);
    expect(server?.logins).toEqual([{ user: 'desk', password: 'canary-password', isSecure: true }]);
  });
});

test('a server without STARTTLS gets neither password nor mail where encryption is asked for', async () => {
  server = await startMailServer();

  const sent = await email.send(depsOf(opened(server.port)), channelOf(server.port, { tls: true }), partOf());

  expect([sent, server.logins, server.mails]).toEqual([{ result: 'failed', error: expect.stringContaining('ETLS') }, [], []]);
});

const resolvingTo = (...answers: string[]) =>
  ((_host: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(null, [{ address: answers.shift() ?? '', family: 4 }])) as unknown as typeof lookup; // as a resolver that changes its mind

test.each([
  ['a name that is private when it is connected to', 'smtp.agents.example', 587, ['10.0.0.7']],
  ['a loopback address', '127.0.0.1', 587, []],
  ['a mapped address', '::ffff:10.0.0.1', 25, []],
  ['a port of something else', 'smtp.agents.example', 6379, ['93.184.216.34']],
])('%s is never reached', async (_what, host, port, answers) => {
  const policy = { allowHttp: false, exceptions: [] };

  const sent = await email.send(depsOf(policy, { resolve: resolvingTo(...answers) }), channelOf(port, { tls: true, host }), partOf());

  expect(sent).toMatchObject({ result: 'refused', error: expect.stringContaining('egress_refused') });
});

test('the clear is refused at each try, too, once the operator has closed it', async () => {
  server = await startMailServer();
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port: server.port, allow_http: false }] };

  const sent = await email.send(depsOf(policy), channelOf(server.port), partOf());

  expect([sent.result, server.logins]).toEqual(['refused', []]);
});

test('a check logs in and sends nothing; a wrong password and a missing server are told', async () => {
  server = await startMailServer();
  const { port } = server;
  const check = () => email.check(depsOf(opened(port)), channelOf(port));

  const good = await check();
  server.refuse = { stage: 'login', code: 535 };
  const wrong = await check();

  expect(good).toEqual({
    checks: [{ name: 'smtp', ok: true, detail: 'logged in, not encrypted' }],
    identity: { id: 'desk@agents.example', name: 'desk@agents.example' },
  });
  expect([wrong.checks, server.mails]).toEqual([[{ name: 'smtp', ok: false, detail: 'SMTP 535' }], []]);
});

test.each([
  ['Ada@Mail.example', { to: 'ada@mail.example', subject: 'Test' }],
  ['ada', null],
  ['a@b.test, c@d.test', null],
  ['a@b.test\r\nBcc: c@d.test', null],
  ['<a@b.test>', null],
])('a test message to %j goes to %j', (to, route) => {
  expect(email.routeTo(to)).toEqual(route);
});
