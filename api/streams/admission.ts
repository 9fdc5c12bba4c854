import { fail } from '../../workflows/contracts/failure.ts';
import type { HubLimits } from './limits.ts';

/** The slot of an open stream; a second release does nothing. */
export interface Slot {
  release(): void;
}

export interface Admission {
  take(principal: string): Slot;
}

/** The number of open streams of a principal; they all share one object. */
interface Tenure {
  readonly principal: string;
  streams: number;
}

const retryAfterS = 5;

/** Counts the open streams of a process, in total and per principal. `take` throws 429 above either limit. */
export function createStreamQuota(limits: Pick<HubLimits, 'streams' | 'streamsPerPrincipal'>): Admission {
  const tenures = new Map<string, Tenure>();
  let total = 0;

  function giveBack(tenure: Tenure): void {
    total -= 1;
    tenure.streams -= 1;
    if (tenure.streams === 0) tenures.delete(tenure.principal);
  }

  return {
    take(principal) {
      const tenure = tenures.get(principal) ?? { principal, streams: 0 };
      if (total >= limits.streams)
        throw fail('rate_limited', {
          reason: 'streams',
          detail: `This process already serves its maximum of ${limits.streams} streams (STREAMS_PER_PROCESS).`,
          retryAfterS,
        });
      if (tenure.streams >= limits.streamsPerPrincipal)
        throw fail('rate_limited', {
          reason: 'streams_per_principal',
          detail: `You already have ${limits.streamsPerPrincipal} open streams, the maximum per caller (STREAMS_PER_PRINCIPAL). Close one first.`,
          retryAfterS,
        });
      tenures.set(principal, tenure);
      tenure.streams += 1;
      total += 1;
      return new TakenSlot(tenure, giveBack);
    },
  };
}

/** A class, since each open stream holds one: a closure would keep its surroundings in memory. */
class TakenSlot implements Slot {
  #tenure: Tenure | null;
  readonly #giveBack: (tenure: Tenure) => void;

  constructor(tenure: Tenure, giveBack: (tenure: Tenure) => void) {
    this.#tenure = tenure;
    this.#giveBack = giveBack;
  }

  release(): void {
    if (this.#tenure) this.#giveBack(this.#tenure);
    this.#tenure = null;
  }
}
