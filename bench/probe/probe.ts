// Preloaded into a process under measurement (`node --import`). Tells over a socket how much processor it has used and, while asked to,
// which statements, Redis commands and Temporal calls it makes. Outside of that it costs one comparison a call.
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { Redis } from 'ioredis';
import pg from 'pg';
import { given } from '../env.ts';
import { socketPath, type ProbeEvent } from './protocol.ts';

let events: ProbeEvent[] | null = null;
let commandsOut = 0;

type Method = (...args: unknown[]) => unknown;

/** Puts `record` before a method of a prototype. */
function watch(prototype: object, name: string, note: (args: readonly unknown[]) => ProbeEvent | ProbeEvent[]): void {
  const original = Reflect.get(prototype, name) as Method; // named by us, a method
  Reflect.set(prototype, name, function watched(this: unknown, ...args: unknown[]): unknown {
    if (events) events.push(...[note(args)].flat());
    return original.apply(this, args);
  });
}

/** pg's other way to say it; `parts` is what our connections send in one batch. */
interface Sent {
  readonly text?: string;
  readonly values?: unknown[];
  readonly parts?: readonly { readonly sql: string; readonly values: readonly unknown[] }[];
}

/** Part of what the floor does by `begin` alone. */
const isOpening = ({ text }: ProbeEvent) => text === 'begin' || text.startsWith('select set_config(');

/** The values written into the text, as only a line of several statements can have them. */
function withValues({ text, params }: ProbeEvent): string {
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => pg.escapeLiteral(String(params[Number(number) - 1])));
}

/** What leaves at once is one round trip. */
function recordQuery(args: readonly unknown[]): ProbeEvent[] {
  return recordStatement(args).map((event, at) => ({ ...event, isRoundTrip: at === 0 }));
}

function recordStatement([query, values]: readonly unknown[]): ProbeEvent[] {
  if (typeof query === 'string') return [{ kind: 'sql', text: query, params: Array.isArray(values) ? values : [] }];
  const { text = '', values: params = [], parts } = query as Sent;
  if (!parts) return [{ kind: 'sql', text, params }];
  const sql = parts.map((part): ProbeEvent => ({ kind: 'sql', text: part.sql, params: [...part.values] }));
  const opens = sql.filter(isOpening);
  if (opens.length === 0) return sql;
  // What the product sends in one batch is told as the statements of an ordinary transaction: the floor runs them one by one.
  const isWhole = opens[0]?.text !== 'begin';
  const opening: ProbeEvent = {
    kind: 'sql',
    text: [...(isWhole ? ['begin'] : []), ...opens.map(withValues)].join('; '),
    params: [],
  };
  const sent = [opening, ...sql.filter((part) => !isOpening(part))];
  return isWhole ? [...sent, { kind: 'sql', text: 'commit', params: [] }] : sent;
}

function recordCommand([command]: readonly unknown[]): ProbeEvent {
  const { name, args, promise } = command as { name: string; args: unknown[]; promise: Promise<unknown> }; // ioredis' Command
  const isRoundTrip = commandsOut === 0;
  const settled = () => void (commandsOut -= 1);
  commandsOut += 1;
  promise.then(settled, settled);
  return { kind: 'redis', text: `${name} ${args.slice(0, 3).map(String).join(' ').slice(0, 200)}`, params: [], isRoundTrip };
}

if (isMainThread) {
  const grpc: unknown = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'))('@grpc/grpc-js');
  const { Client } = grpc as { Client: { prototype: object } }; // the library that Temporal's client calls through

  watch(pg.Client.prototype, 'query', recordQuery);
  watch(Redis.prototype, 'sendCommand', recordCommand);
  watch(Client.prototype, 'makeUnaryRequest', ([method]) => ({ kind: 'temporal', text: String(method), params: [] }));
  watch(ServerResponse.prototype, 'end', () => ({ kind: 'answer', text: '', params: [] }));

  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (word) => socket.end(JSON.stringify(answerTo(String(word)))));
  });
  server.listen(socketPath(given('BENCH_PROBE_DIR'), process.pid)).unref();
}

/** After a collection: what is reachable, not what happens to lie about. */
function memoryInUse(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // the flag puts it there
  collect();
  collect();
  return process.memoryUsage();
}

function answerTo(word: string): unknown {
  if (word === 'cpu') return process.cpuUsage();
  if (word === 'memory') return memoryInUse();
  const taken = events ?? [];
  events = word === 'record' ? [] : null;
  return taken;
}
