import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer';
import { EgressRefused } from '../egress/errors.ts';
import { refusalOfPlainMail } from '../egress/url.ts';
import { trySend } from './call-service.ts';
import { boundedHeader, isMailAddress, messageIdOf } from './mail-text.ts';
import type { ChannelService, SendOutcome, ServiceChannel, ServiceCheck, ServiceDeps, ServicePart } from './service.ts';

/** Mail, by the SMTP server of the channel (RFC 5321), each part as a separate mail. */
export const email: ChannelService = {
  send: (deps, channel, part) =>
    trySend(async () => {
      const transport = await openTransport(deps, channel);
      try {
        const mail = { ...mailOf(channel, part), attachments: await attachmentsOf(part) };
        await transport.sendMail({ ...mail, signal: deps.signal });
        return { result: 'sent', externalId: mail.messageId };
      } catch (error) {
        return judged(error);
      } finally {
        transport.close();
      }
    }),
  // What most servers accept as a mail, once its files are in Base64.
  files: { kind: 'with_text', maxBytes: 15 * 1024 * 1024 },
  // Mailboxes recognize it by its Message-ID.
  afterUncertain: 'again',
  async check(deps, channel) {
    const address = channel.settings.address ?? '';
    return { checks: [await checkServer(deps, channel)], identity: { id: address, name: address } };
  },
  routeTo: (to) => (isMailAddress(to) ? { to: to.toLowerCase(), subject: 'Test' } : null),
};

// Together less than the 15 s that a try may take.
const timeouts = { connectionTimeout: 6_000, greetingTimeout: 6_000, socketTimeout: 12_000, socketCloseTimeout: 500 };

/** Opens a client on a connection whose address was checked. Its certificate has to match the server's name. Throws what the guard throws. */
async function openTransport(deps: ServiceDeps, { settings, secrets }: ServiceChannel) {
  const { smtp } = settings;
  if (!smtp) throw new EgressRefused('no mail server is set');
  const { host, port, tls, user } = smtp;
  const refusal = tls ? null : refusalOfPlainMail(smtp, deps.policy);
  if (refusal !== null) throw new EgressRefused(refusal);
  const connection = await deps.egress.connect({ host, port, policy: deps.policy, signal: deps.signal });
  connection.on('error', () => undefined); // the client listens, too; without a listener a late error would end the process
  return createTransport({
    host,
    port,
    connection,
    // RFC 8314: TLS from the first byte on its own port; on other ports STARTTLS, without which nothing is sent.
    secure: tls && port === implicitTlsPort,
    requireTLS: tls && port !== implicitTlsPort,
    ignoreTLS: !tls,
    auth: { user, pass: secrets['smtp_password'] ?? '' },
    ...timeouts,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const implicitTlsPort = 465;

function attachmentsOf({ files }: ServicePart): Promise<Mail.Attachment[]> {
  return Promise.all(files.map(async ({ name, mediaType, read }) => ({ filename: name, contentType: mediaType, content: await read() })));
}

/** Builds the same mail on every try. */
function mailOf({ settings }: ServiceChannel, part: ServicePart) {
  const { id, text, rendered, isPlain, route, since } = part;
  const from = settings.address ?? '';
  const answers = route['message_id'];
  const references = (route['references'] ?? '').split(' ').filter((one) => one !== '');
  return {
    messageId: messageIdOf(id, from),
    date: since,
    from: { name: '', address: from },
    to: { name: '', address: route['to'] ?? '' },
    subject: boundedHeader(route['subject'] ?? ''),
    text,
    ...(isPlain ? {} : { html: `<!doctype html>\n<html><body>\n${rendered}\n</body></html>\n` }),
    ...(answers === undefined ? {} : { inReplyTo: answers, references: [...references, answers] }),
    headers: {
      // RFC 3834: no auto-responder and no other agent should answer.
      'Auto-Submitted': answers === undefined ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
    },
  } satisfies Mail.Options;
}

/** A server that asks to come again later (RFC 5321 §4.5.4.1) gets the next try in five minutes. */
const laterS = 300;

/** Judges what nodemailer throws: a reply of the server has a code; without one the mail may have arrived, unless it failed before there was a session. */
function judged(error: unknown): SendOutcome {
  const [code, replied, cause] = [fieldOf(error, 'code'), fieldOf(error, 'responseCode'), fieldOf(error, 'originalCode')];
  if (typeof cause === 'string' && ofCertificates.test(cause))
    return { result: 'failed', error: `the certificate of the mail server is not trusted (${cause})` };
  if (code === 'ETLS' || code === 'EPROTOCOL') return { result: 'failed', error: `the mail server offers no encrypted session (${code})` };
  const smtpCode = typeof replied === 'number' ? replied : null;
  if (smtpCode !== null && smtpCode >= 400) {
    const words = `SMTP ${smtpCode}`;
    return smtpCode < 500 ? { result: 'limited', retryAfterS: laterS, error: words } : { result: 'refused', error: words };
  }
  const reason = `the mail server did not accept it (${typeof code === 'string' ? code : 'unknown'})`;
  const isRefused = code === 'EENVELOPE' || code === 'EMESSAGE' || code === 'EAUTH' || code === 'ENOAUTH';
  return { result: isRefused ? 'refused' : 'uncertain', error: reason };
}

/** Codes of Node and OpenSSL for a certificate that is not accepted; nothing is sent then. */
const ofCertificates = /CERT|VERIFY|^ERR_TLS_/;

function fieldOf(error: unknown, name: 'code' | 'responseCode' | 'originalCode'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}

/** Connects, encrypts and logs in, and sends nothing. */
async function checkServer(deps: ServiceDeps, channel: ServiceChannel): Promise<ServiceCheck> {
  const transport = await openTransport(deps, channel);
  try {
    await transport.verify();
    return { name: 'smtp', ok: true, detail: channel.settings.smtp?.tls === true ? 'logged in, encrypted' : 'logged in, not encrypted' };
  } catch (error) {
    const outcome = judged(error);
    return { name: 'smtp', ok: false, detail: outcome.result === 'sent' ? '' : outcome.error };
  } finally {
    transport.close();
  }
}
