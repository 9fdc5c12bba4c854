import type { AddressInfo } from 'node:net';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';

export interface Refusal {
  readonly stage: 'login' | 'sender' | 'recipient' | 'content';
  readonly code: number;
}

/** A mail server in this process: keeps what it took, and refuses what the test says. */
export interface MailServer {
  readonly url: string;
  readonly port: number;
  /** Who has logged in, and whether the connection was encrypted by then. */
  readonly logins: readonly { readonly user: string; readonly password: string; readonly isSecure: boolean }[];
  readonly mails: readonly ParsedMail[];
  readonly recipients: readonly string[];
  refuse: Refusal | null;
  /** Called with a mail that has come in whole, before the server says that it took it. */
  onMail: ((mail: ParsedMail) => Promise<void>) | null;
  close(): Promise<void>;
}

/** How its connections are encrypted; without it they are not. */
export interface MailTls {
  readonly key: string;
  readonly cert: string;
  /** From the first byte (RFC 8314); else by STARTTLS. */
  readonly isImplicit: boolean;
}

export async function startMailServer(tls: MailTls | null = null): Promise<MailServer> {
  const logins: { user: string; password: string; isSecure: boolean }[] = [];
  const mails: ParsedMail[] = [];
  const recipients: string[] = [];
  const refusal = (stage: Refusal['stage']): Error | null => {
    const { refuse } = server;
    return refuse?.stage === stage ? Object.assign(new Error(`no, not reader@example.test`), { responseCode: refuse.code }) : null;
  };
  const smtp = new SMTPServer({
    authOptional: true,
    ...(tls ? { key: tls.key, cert: tls.cert, secure: tls.isImplicit } : { disabledCommands: ['STARTTLS'] }),
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, { secure }, done) => {
      const refused = refusal('login');
      logins.push({ user: username ?? '', password: password ?? '', isSecure: secure });
      if (refused) done(refused);
      else done(null, { user: 'u' });
    },
    onMailFrom: (_address, _session, done) => done(refusal('sender')),
    onRcptTo: (address, _session, done) => {
      if (!refusal('recipient')) recipients.push(address.address);
      done(refusal('recipient'));
    },
    onData: (stream, _session, done) => void taken(stream, done),
  });
  const taken = async (stream: Parameters<typeof simpleParser>[0], done: (error: Error | null) => void): Promise<void> => {
    const mail = await simpleParser(stream);
    const refused = refusal('content');

    if (!refused) mails.push(mail);
    await server.onMail?.(mail);
    done(refused);
  };
  smtp.on('error', () => undefined); // a killed client resets its connection
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', () => resolve()));
  const { port } = smtp.server.address() as AddressInfo;

  const server: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    logins,
    mails,
    recipients,
    refuse: null,
    onMail: null,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
  return server;
}
