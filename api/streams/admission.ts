import { fail } from '../../workflows/contracts/failure.ts';
import type { HubLimits } from './limits.ts';

/** A place taken by an open stream; given back once. */
export interface Slot {
  release(): void;
}

export interface Admission {
  take(principal: string): Slot;
}

const retryAfterS = 5;

/** Counts the open streams of a process, in all and by principal. */
export function createAdmission(limits: Pick<HubLimits, 'streams' | 'streamsPerPrincipal'>): Admission {
  const byPrincipal = new Map<string, number>();
  let total = 0;

  return {
    take(principal) {
      const own = byPrincipal.get(principal) ?? 0;
      if (total >= limits.streams) throw fail('rate_limited', { reason: 'streams', retryAfterS });
      if (own >= limits.streamsPerPrincipal) throw fail('rate_limited', { reason: 'streams_per_principal', retryAfterS });
      byPrincipal.set(principal, own + 1);
      total += 1;
      let isTaken = true;

      return {
        release() {
          if (!isTaken) return;
          isTaken = false;
          total -= 1;
          const left = (byPrincipal.get(principal) ?? 1) - 1;
          if (left > 0) byPrincipal.set(principal, left);
          else byPrincipal.delete(principal);
        },
      };
    },
  };
}
