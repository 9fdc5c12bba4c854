import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Deps } from '../http/operation/deps.ts';

/** Whether a request bears METRICS_TOKEN; compared by hashes, so in constant time whatever its length. */
export function isScrapeToken({ env }: Pick<Deps, 'env'>, request: FastifyRequest): boolean {
  const expected = env.metricsToken;
  const [, given] = /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (expected === null || given === undefined) return false;
  return timingSafeEqual(sha256(given), sha256(expected));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
