import { createSocket } from 'node:dgram';

/** A name server (RFC 1035) that knows TXT records only; what it does not know does not exist. */
export interface NameServer {
  /** ADDRESS:PORT. */
  readonly address: string;
  readonly txt: Map<string, readonly string[]>;
  /** It takes questions and says nothing. */
  isSilent: boolean;
  readonly asked: string[];
  close(): Promise<void>;
}

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const server: NameServer = {
    address: `127.0.0.1:${socket.address().port}`,
    txt: new Map(),
    isSilent: false,
    asked: [],
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  socket.on('message', (question, from) => {
    const { name, end } = nameIn(question);
    server.asked.push(name);
    if (!server.isSilent) socket.send(answerOf(question.subarray(0, end + 4), server.txt.get(name) ?? null), from.port, from.address);
  });
  return server;
}

const headerBytes = 12;

function nameIn(question: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function answerOf(question: Buffer, records: readonly string[] | null): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(records ? 0x8580 : 0x8583, 2); // an answer; NXDOMAIN where there is none
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records?.length ?? 0, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...(records ?? []).map(recordOf)]);
}

/** The name of the question, TXT, IN, a minute; texts of at most 255 bytes. */
function recordOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 255) parts.push(Buffer.from([Math.min(255, bytes.length - at)]), bytes.subarray(at, at + 255));
  const data = Buffer.concat(parts);
  const fixed = Buffer.from([0xc0, headerBytes, 0, 16, 0, 1, 0, 0, 0, 60, 0, 0]);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}
