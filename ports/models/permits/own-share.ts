import type { RateLimits } from '../limits.ts';
import type { ProviderLimits } from './exchange.ts';

/** A call that waits, or has left. */
export interface SharedCall {
  readonly model: string;
  readonly workspaceId: string;
  readonly tokens: number;
}

/** A call that has left in the last minute, by the monotonic clock of the process. */
export interface MadeCall extends SharedCall {
  readonly at: number;
}

export interface OwnShare {
  readonly limits: ProviderLimits;
  /** Processes that share the limits. */
  readonly processes: number;
  readonly held: Iterable<SharedCall>;
  readonly made: readonly MadeCall[];
  readonly now: number;
  /** Until when each model is paused, by the same clock. */
  readonly pauses: ReadonlyMap<string, number>;
}

const windowMs = 60_000;
/** A second in which a paused model gets 1 call, then 2, then 4; after eight of them it is free. */
const rampStepMs = 1_000;
const rampSteps = 8;

/**
 * Whether a call may leave when the processes can't ask each other: each limit is divided by their number, with room for one call at least. The same rules as in
 * `permits.lua`, which decides while Redis answers.
 */
export function fitsOwnShare(call: SharedCall, share: OwnShare): boolean {
  const { limits, now } = share;
  if (isPaused(call.model, share)) return false;
  const held = [...share.held];
  const made = share.made.filter(({ at }) => now - at <= windowMs);
  const own = limits.models.get(call.model) ?? null;
  const isOwn = ({ model }: SharedCall) => model === call.model;
  return (
    hasRoom(limits.provider, share.processes, { call, held, made }) &&
    hasRoom(own, share.processes, { call, held: held.filter(isOwn), made: made.filter(isOwn) })
  );
}

interface Load {
  readonly call: SharedCall;
  readonly held: readonly SharedCall[];
  readonly made: readonly SharedCall[];
}

function hasRoom(limits: RateLimits | null, processes: number, { call, held, made }: Load): boolean {
  if (limits === null) return true;
  const shareOf = (limit: number | null) => (limit === null ? Infinity : Math.max(1, Math.floor(limit / processes)));
  const maxTokens = shareOf(limits.tokensPerMinute);
  const tokens = made.reduce((sum, each) => sum + each.tokens, 0);
  return (
    held.length < shareOf(limits.concurrency) &&
    made.length < shareOf(limits.requestsPerMinute) &&
    tokens + Math.min(call.tokens, maxTokens) <= maxTokens
  );
}

function isPaused(model: string, { pauses, made, now }: OwnShare): boolean {
  const until = pauses.get(model);
  if (until === undefined) return false;
  const step = Math.floor((now - until) / rampStepMs);
  if (step < 0) return true;
  const granted = made.filter((each) => each.model === model && each.at >= until).length;
  return step < rampSteps && granted >= 2 ** (step + 1) - 1;
}
