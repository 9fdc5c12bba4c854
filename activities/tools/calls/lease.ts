import { setTimeout as delay } from 'node:timers/promises';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { LeaseKey, TakenAt } from '../../../db/tools/tool-leases.ts';
import { dropLease, renewLease, takeLease } from '../../../domain/tools/leases.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** An exclusive tool that one call in its workspace holds. */
export interface HeldLease {
  /** Aborted when the lease is lost: from then on another call may hold the tool. */
  readonly signal: AbortSignal;
  /** Releases the lease. Never throws: a lease that can't be released expires. */
  release(): Promise<void>;
}

export interface LeaseOptions {
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  readonly key: LeaseKey;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const firstPauseMs = 50;
const maxPauseMs = 500;
const renewMs = 5_000;
/** Less than the lease's 30 s: a holder that can't renew stops before another call may begin. */
const maxSilentMs = 20_000;

/** Waits for the tool, holds it and renews the lease until it is released. Null: the tool was busy for all of `waitMs`. Throws the signal's reason. */
export async function lockLease({ transact, key, waitMs, signal }: LeaseOptions): Promise<HeldLease | null> {
  const end = performance.now() + waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    signal.throwIfAborted();
    const asked = performance.now();
    const takenAt = await transact((tx) => takeLease(tx, key));
    if (takenAt !== null) return keep({ transact, key }, takenAt, asked);
    const leftMs = end - performance.now();
    if (leftMs <= 0) return null;
    await delay(Math.min(pauseMs, leftMs), undefined, { signal }).catch(() => undefined);
  }
}

/** Holds a lease and renews it. `askedAt` precedes the start of the lease, which the database's clock sets. */
function keep({ transact, key }: Pick<LeaseOptions, 'transact' | 'key'>, takenAt: TakenAt, askedAt: number): HeldLease {
  const held = { ...key, takenAt };
  const lost = new AbortController();
  let renewedAt = askedAt;
  const lose = () => lost.abort(fail('service_unavailable', { reason: 'lease_lost', detail: 'The tool is no longer held by this call.' }));
  const renew = async () => {
    const asked = performance.now();
    try {
      if (await transact((tx) => renewLease(tx, held))) renewedAt = asked;
      else lose();
    } catch {
      // The database may be unavailable for a moment: the timer below decides.
    }
  };
  const isSilent = () => performance.now() - renewedAt > maxSilentMs;
  const timer = setInterval(() => {
    if (isSilent()) lose();
    else void renew();
  }, renewMs);

  return {
    get signal() {
      // A process that was frozen may read the signal before its timer has fired.
      if (isSilent()) lose();
      return lost.signal;
    },
    async release() {
      clearInterval(timer);
      await transact((tx) => dropLease(tx, held)).catch(() => undefined);
    },
  };
}
