import { request, type IncomingMessage } from 'node:http';
import { parseFrame } from '../../db/streams/frame-text.ts';
import type { Frame } from '../../db/streams/frame.schema.ts';

export interface SseEvent {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string | null;
}

export interface SseOptions {
  readonly bearer: string;
  readonly afterSeq?: number;
  readonly isReplay?: boolean;
  readonly lastEventId?: string;
}

/** One server-sent event stream as it arrives, block by block. */
export interface SseClient {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: () => string;
  readonly events: SseEvent[];
  readonly texts: string[];
  readonly frames: Frame[];
  /** Resolves when the server has ended the response, or it was cut. */
  readonly ended: Promise<void>;
  until(condition: (client: SseClient) => boolean, timeoutMs?: number): Promise<void>;
  pause(): void;
  resume(): void;
  destroy(): void;
}

export function openSse(url: string, runId: string, options: SseOptions): Promise<SseClient> {
  const query = new URLSearchParams();
  if (options.afterSeq !== undefined) query.set('after_seq', String(options.afterSeq));
  if (options.isReplay !== undefined) query.set('replay', String(options.isReplay));
  const headers: Record<string, string> = { authorization: `Bearer ${options.bearer}` };
  if (options.lastEventId !== undefined) headers['last-event-id'] = options.lastEventId;

  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/runs/${runId}/stream?${query}`, { headers, agent: false }, (response) => resolve(clientOf(response)));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function clientOf(response: IncomingMessage): SseClient {
  let pending = '';
  let body = '';
  const watchers = new Set<() => void>();
  const look = () => watchers.forEach((watcher) => watcher());
  const client: SseClient = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: () => body,
    events: [],
    texts: [],
    frames: [],
    ended: new Promise((resolve) => response.on('close', resolve)),
    until: (condition, timeoutMs = 60_000) =>
      new Promise((resolve, reject) => {
        const done = () => (clearTimeout(timer), watchers.delete(check));
        const check = () => condition(client) && (done(), resolve());
        const timer = setTimeout(
          () => (done(), reject(new Error(`not in time; got ${client.frames.length} frames, last ${client.texts.at(-1)?.slice(0, 120)}`))),
          timeoutMs,
        );
        watchers.add(check);
        check();
      }),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    destroy: () => void response.destroy(),
  };

  response.setEncoding('utf8');
  response.on('error', () => undefined);
  response.on('data', (part: string) => {
    body += part;
    pending += part;
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      take(client, pending.slice(0, end));
      pending = pending.slice(end + 2);
    }
    look();
  });
  response.on('close', look);
  return client;
}

function take(client: SseClient, block: string): void {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]));
  const event = { id: fields.get('id') ?? null, event: fields.get('event') ?? null, data: fields.get('data') ?? null };
  client.events.push(event);
  if (event.data === null) return;
  client.texts.push(event.data);
  client.frames.push(parseFrame(event.data));
}

export function numbersOf(client: Pick<SseClient, 'frames'>): (number | null)[] {
  return client.frames.map((frame) => frame.seq);
}

/** first … last */
export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
