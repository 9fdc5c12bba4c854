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
  readonly mails: readonly ParsedMail[];
  readonly recipients: readonly string[];
  refuse: Refusal | null;
  /** Called with a mail that has come in whole, before the server says that it took it. */
  onMail: ((mail: ParsedMail) => Promise<void>) | null;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: ParsedMail[] = [];
  const recipients: string[] = [];
  const refusal = (stage: Refusal['stage']): Error | null => {
    const { refuse } = server;
    return refuse?.stage === stage ? Object.assign(new Error(`no, not reader@example.test`), { responseCode: refuse.code }) : null;
  };
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: (_auth, _session, done) => {
      const refused = refusal('login');
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
    mails,
    recipients,
    refuse: null,
    onMail: null,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
  return server;
}
