import type { lookup } from 'node:dns';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { createEgress, type Egress } from '../../ports/egress/egress.ts';
import { createMailer } from '../../ports/mail.ts';
import { certificate, trustTestAuthority, type CertificateName } from '../fakes/tls-certificates.ts';
import { until } from '../support/temporal.ts';
import { openNoticeWorld, type NoticeTenant, type NoticeWorld } from './delivery-world.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
let world: NoticeWorld;
let distrust: () => void;

beforeAll(async () => {
  distrust = trustTestAuthority();
  world = await openNoticeWorld();
});
afterAll(async () => {
  distrust();
  await world?.close();
});

const listening = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return (server.address() as AddressInfo).port;
};

/** A delivery to an address that the organization may reach. */
async function webhookTo(url: string, allowed: readonly object[] = []): Promise<{ tenant: NoticeTenant; deliveryId: string }> {
  const tenant = await world.tenant();
  await tenant.secret('hook', secret);
  await tenant.sql('update organization_settings set egress_allowlist = ?::jsonb where organization_id = ? returning organization_id', [
    JSON.stringify(allowed),
    tenant.organizationId,
  ]);
  const { deliveryIds } = await tenant.fire([{ kind: 'webhook', url, secret_name: 'hook' }]);
  return { tenant, deliveryId: deliveryIds[0] ?? '' };
}

async function mailed(url: string) {
  const tenant = await world.tenant();
  const { deliveryIds } = await tenant.fire([{ kind: 'user', user_id: tenant.users.admin.id }]);
  const mailer = createMailer({ kind: 'smtp', url, from: 'Longhaul <us@longhaul.test>', linkUrl: null });
  const deliveryId = deliveryIds[0] ?? '';
  await tenant.attempt(deliveryId, { mail: { mailer, publicUrl: 'https://longhaul.test', linkUrl: null } });
  return tenant.delivery(deliveryId);
}

const faults = [
  ['self', /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ['expired', /CERT_HAS_EXPIRED/],
  ['elsewhere', /ERR_TLS_CERT_ALTNAME_INVALID/],
] as const;

async function postTo(name: CertificateName) {
  let requests = 0;
  const server = createHttpsServer(certificate(name), (_request, response) => {
    requests += 1;
    response.end('ok');
  });
  const port = await listening(server);
  const { tenant, deliveryId } = await webhookTo(`https://127.0.0.1:${port}/hook`, [{ host: '127.0.0.1', port }]);
  const step = await tenant.attempt(deliveryId);
  server.closeAllConnections();
  server.close();
  return { step, delivery: await tenant.delivery(deliveryId), requests };
}

test('a webhook over TLS that this process trusts is sent', async () => {
  expect(await postTo('valid')).toMatchObject({ step: { isOver: true }, delivery: { status: 'sent', last_status: 200 }, requests: 1 });
});

test.each(faults)('a webhook whose certificate is %s gets nothing, and is tried again with that reason', async (name, reason) => {
  const { step, delivery, requests } = await postTo(name);

  expect(step).toMatchObject({ isOver: false });
  expect(delivery).toMatchObject({ status: 'failed', attempts: 1, last_status: null, last_error: expect.stringMatching(reason) });
  expect(delivery?.last_error).not.toContain('127.0.0.1');
  expect(requests).toBe(0);
});

async function mailOver(name: CertificateName, secure: boolean) {
  let mails = 0;
  const smtp = new SMTPServer({
    ...certificate(name),
    secure,
    authOptional: true,
    logger: false,
    onData: (stream, _session, done) => {
      mails += 1;
      stream.resume().on('end', () => done());
    },
  });
  smtp.on('error', () => undefined);
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', () => resolve()));
  const { port } = smtp.server.address() as AddressInfo;
  const delivery = await mailed(`${secure ? 'smtps' : 'smtp'}://127.0.0.1:${port}`);
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
  return { delivery, mails };
}

test.each([
  ['SMTP over TLS', true],
  ['STARTTLS', false],
] as const)('%s: a mail is sent where the certificate is good, and waits with a reason where it is not', async (_name, secure) => {
  expect(await mailOver('valid', secure)).toMatchObject({ delivery: { status: 'sent', last_error: null }, mails: 1 });
  for (const [name] of faults) {
    const { delivery, mails } = await mailOver(name, secure);
    expect(delivery).toMatchObject({ status: 'failed', attempts: 1, last_error: expect.stringContaining('The mail server') });
    expect(delivery?.last_error).not.toContain('127.0.0.1');
    expect(mails).toBe(0);
  }
});

/** The system's resolver, saying what the test says: one list of addresses, or an error, for each time it is asked. */
function resolver(...answers: (readonly string[] | 'ENOTFOUND')[]): { egress: Egress; asked: () => number } {
  let asked = 0;
  const resolve = (_host: string, _options: object, done: (error: Error | null, found: { address: string; family: number }[]) => void) => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? 'ENOTFOUND';
    asked += 1;
    if (answer === 'ENOTFOUND') done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
    else
      done(
        null,
        answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  };
  // Of the overloads of `lookup` the guard calls this one.
  return { egress: createEgress({ resolve: resolve as unknown as typeof lookup }), asked: () => asked };
}

test('a name that is looked up anew for each try, and then points into the private net, in part or as a whole, is never sent to', async () => {
  const ways = [['127.0.0.1'], ['10.0.0.7'], ['169.254.169.254'], ['::1'], ['::ffff:10.0.0.7'], ['1.1.1.1', '192.168.0.1']] as const;
  const { egress, asked } = resolver('ENOTFOUND', ...ways);
  const { tenant, deliveryId } = await webhookTo('https://receiver.test/hook');

  await tenant.attempt(deliveryId, { egress });
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'failed', last_error: expect.stringContaining('ENOTFOUND') });
  for (const [at] of ways.entries()) {
    await tenant.makeDue(deliveryId);
    await tenant.attempt(deliveryId, { egress });
    const status = at < 4 ? 'failed' : 'dead';
    expect(await tenant.delivery(deliveryId)).toMatchObject({
      status,
      last_error: expect.stringMatching(/^egress_refused: the address is not public/),
    });
  }
  // The sixth try was the last.
  expect(asked()).toBe(6);
  await egress.close();
});

/** Says a byte every 50 ms, for ever; gives whether its client has gone. */
async function drip(greeting: string, text: string) {
  let open: Socket | null = null;
  const server = createTcpServer((socket) => {
    open = socket;
    socket.on('error', () => undefined);
    socket.write(greeting);
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++ % text.length] ?? '.'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  const port = await listening(server);
  return { port, isClosed: () => open?.destroyed ?? false, close: () => void (open?.destroy(), server.close()) };
}

test('a receiver whose head drips, and a mail server whose reply does, have 15 seconds: then the try has failed and the connection is gone', async () => {
  const [head, reply] = [await drip('HTTP/1.1 200 OK\r\n', 'x-drip: 1\r\n'), await drip('220 slow\r\n250', '-')];
  const { tenant, deliveryId } = await webhookTo(`http://127.0.0.1:${head.port}/hook`, [
    { host: '127.0.0.1', port: head.port, allow_http: true },
  ]);

  const [, mail] = await Promise.all([tenant.attempt(deliveryId), mailed(`smtp://127.0.0.1:${reply.port}`)]);

  const failed = { status: 'failed', attempts: 1, last_status: null, last_error: 'no answer within 15 seconds' };
  expect(await tenant.delivery(deliveryId)).toMatchObject(failed);
  expect(mail).toMatchObject(failed);
  await until(() => head.isClosed() && reply.isClosed());
  for (const one of [head, reply]) one.close();
});

test('a try whose worker died may have arrived, so it counts; the next one is made at once, also when all six were lost', async () => {
  const { tenant, deliveryId } = await webhookTo(`http://127.0.0.1:${world.receiver.port}/hook`, [
    { host: '127.0.0.1', port: world.receiver.port, allow_http: true },
  ]);
  const dies = () => Promise.reject(new Error('the worker is gone'));
  for (let at = 1; at <= 6; at += 1) {
    await expect(
      tenant.attempt(deliveryId, { egress: { fetch: dies, open: dies, connect: dies, close: async () => undefined } }),
    ).rejects.toThrow('gone');
    expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'queued', attempts: at, in_s: null });
  }

  expect(await tenant.attempt(deliveryId)).toEqual({ isOver: true });
  expect(await tenant.delivery(deliveryId)).toMatchObject({ status: 'sent', attempts: 7 });
});
