import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';

export interface Load {
  readonly origin: string;
  readonly requests: number;
  readonly concurrency: number;
  /** Rest of each lane after an answer. */
  readonly pauseMs?: number;
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Made anew for each request. */
  readonly body?: () => unknown;
  readonly status: number;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Milliseconds of each request, to the last byte of its answer. */
  readonly times: readonly number[];
}

/** Sends requests over kept-alive connections, each waiting for its answer; throws on another status than the one expected. */
export async function load({ origin, requests, concurrency, pauseMs = 0, ...request }: Load): Promise<LoadResult> {
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  const times: number[] = [];
  let left = requests;

  async function lane(): Promise<void> {
    while (left-- > 0) {
      const startedAt = performance.now();
      await send(pool, request);
      times.push(performance.now() - startedAt);
      if (pauseMs > 0) await delay(pauseMs);
    }
  }
  try {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: concurrency }, lane));
    return { perSecond: (requests * 1_000) / (performance.now() - startedAt), times };
  } finally {
    await pool.close();
  }
}

async function send(
  pool: Pool,
  { method = 'GET', path, headers, body, status }: Omit<Load, 'origin' | 'requests' | 'concurrency' | 'pauseMs'>,
): Promise<void> {
  const answer = await pool.request({
    method,
    path,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body()) } : {}),
  });
  if (answer.statusCode !== status)
    throw new Error(`${method} ${path} answered ${answer.statusCode}: ${(await answer.body.text()).slice(0, 400)}`);
  await answer.body.dump();
}
