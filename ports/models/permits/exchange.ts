import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { RateLimits } from '../limits.ts';

/** A call as the exchange names it: model, workspace, estimated tokens. */
export interface ExchangedCall {
  readonly id: string;
  readonly m: string;
  readonly w: string;
  readonly t: number;
  /** When it came, in milliseconds since 1970; absent: `ago` milliseconds before the exchange. */
  readonly a?: number;
  readonly ago: number;
}

/** What has changed in a process since its last exchange. */
export interface Changes {
  readonly entering: readonly ExchangedCall[];
  readonly finished: readonly FinishedCall[];
  readonly pauses: readonly { readonly m: string; readonly ms?: number }[];
}

/** A call that has ended, with the tokens that it has used if they are known; `unsent`: it never left. */
export interface FinishedCall {
  readonly id: string;
  readonly tokens?: number;
  readonly unsent?: true;
}

/** All that a process has: it replaces what Redis knew of the process. `made`: calls that Redis never saw, with their age in seconds. */
export interface Whole {
  readonly held: readonly ExchangedCall[];
  readonly made: readonly { readonly m: string; readonly t: number; readonly ago: number }[];
}

export interface Exchange extends Changes {
  /** Null: only the changes. */
  readonly whole: Whole | null;
}

export interface ExchangeReply {
  /** The next exchange has to be whole. */
  readonly isUnknown: boolean;
  /** Processes that have asked for permits in the last ten minutes. */
  readonly processes: number;
  readonly granted: readonly string[];
}

/** The limits that apply to the calls of one provider. */
export interface ProviderLimits {
  readonly provider: RateLimits | null;
  readonly models: ReadonlyMap<string, RateLimits>;
}

const script = readFileSync(new URL('./permits.lua', import.meta.url), 'utf8');
const digest = createHash('sha1').update(script).digest('hex');

export interface Exchanger {
  readonly redis: Redis;
  /** What all keys of the provider begin with. */
  readonly keys: string;
  readonly process: string;
  readonly limits: ProviderLimits;
}

/** Makes one exchange, in one command. Rejects while Redis does not answer. */
export async function exchange({ redis, keys, process, limits }: Exchanger, { whole, ...changes }: Exchange): Promise<ExchangeReply> {
  const asked = JSON.stringify({
    process,
    limits: {
      ...(limits.provider === null ? {} : { provider: shortLimits(limits.provider) }),
      models: Object.fromEntries([...limits.models].map(([model, own]) => [model, shortLimits(own)])),
    },
    ...changes,
    ...(whole === null ? {} : { whole: true, ...whole }),
  });
  const reply = await redis.evalsha(digest, 1, keys, asked).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return redis.eval(script, 1, keys, asked);
  });
  const [isUnknown, processes, ...granted] = Array.isArray(reply) ? reply : [];
  return { isUnknown: isUnknown === 1, processes: Number(processes), granted: granted.map(String) };
}

function shortLimits({ requestsPerMinute, tokensPerMinute, concurrency }: RateLimits) {
  return {
    ...(requestsPerMinute === null ? {} : { requests: requestsPerMinute }),
    ...(tokensPerMinute === null ? {} : { tokens: tokensPerMinute }),
    ...(concurrency === null ? {} : { concurrency }),
  };
}
