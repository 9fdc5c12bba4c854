import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface ReaderPlace {
  readonly url: string;
  /** Of the n-th reader. */
  readonly headers: (n: number) => Readonly<Record<string, string>>;
}

/** Open event streams of one run, all read by this process. */
export interface Readers {
  /** Milliseconds from the time that a frame's text names (`@<time>@`, as `performance.now`) to its arrival, over all readers. */
  readonly lags: number[];
  /** Waits until each reader has this many frames that name a time. */
  until(frames: number): Promise<void>;
  close(): void;
}

const mark = /@(\d+\.?\d*)@/g;
const maxMs = 30_000;

export async function openReaders(count: number, { url, headers }: ReaderPlace): Promise<Readers> {
  const agent = new Agent({ keepAlive: false });
  const lags: number[] = [];
  const seen = Array.from({ length: count }, () => 0);
  const open: IncomingMessage[] = [];

  for (let n = 0; n < count; n += 50) {
    const some = Array.from({ length: Math.min(50, count - n) }, (_, at) => connect({ url, headers: headers(n + at), agent }));
    for (const response of await Promise.all(some)) {
      const at = open.push(response) - 1;
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        const now = performance.now();
        // A frame is far shorter than a chunk of the wire, so its mark is hardly ever cut; one that is would show as a timeout.
        for (const [, time] of part.matchAll(mark)) {
          lags.push(now - Number(time));
          seen[at] = (seen[at] ?? 0) + 1;
        }
      });
    }
  }
  return {
    lags,
    async until(frames) {
      const end = performance.now() + maxMs;
      while (seen.some((had) => had < frames)) {
        if (performance.now() > end) throw new Error(`readers got ${Math.min(...seen)} of ${frames} frames`);
        await delay(5);
      }
    },
    close() {
      for (const response of open) response.destroy();
      agent.destroy();
    },
  };
}

function connect({
  url,
  headers,
  agent,
}: {
  url: string;
  headers: Readonly<Record<string, string>>;
  agent: Agent;
}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, agent }, (response) => {
      response.on('error', () => undefined);
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${url} answered ${response.statusCode}`));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}
