import { fail } from '../workflows/contracts/failure.ts';

/** Connections of a pool that no single organization gets: they are for all others. */
const keptFree = 2;

/** How much of a pool each organization holds. */
export interface Shares {
  /**
   * Waits until the organization holds less than its share, and counts one connection as held. Gives the function that gives it back; more calls of it do
   * nothing. Throws 503 `service_unavailable` after the time that a statement may wait for a connection. Null, no organization, is never held up.
   */
  take(organizationId: string | null): Promise<() => void>;
}

/**
 * Lets one organization hold all connections of a pool but two. A transaction may wait for work on what its tenant has sent (`ports/untrusted`) or for a
 * lock, and requests come by the hundred: without a share those of one organization would keep every other from the database.
 */
export function createShares({ poolMax, waitMs }: { readonly poolMax: number; readonly waitMs: number }): Shares {
  const share = Math.max(1, poolMax - keptFree);
  const holders = new Map<string, Holder>();

  return {
    async take(organizationId) {
      if (organizationId === null) return () => undefined;
      const holder = holders.get(organizationId) ?? { held: 0, waiting: new Set() };
      holders.set(organizationId, holder);
      if (holder.held < share) holder.held += 1;
      else await handedOver(holder, waitMs); // whoever gives back leaves it counted

      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const [next] = holder.waiting;
        if (next) return next();
        holder.held -= 1;
        if (holder.held === 0) holders.delete(organizationId);
      };
    },
  };
}

interface Holder {
  held: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
}

function handedOver({ waiting }: Holder, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = () => {
      clearTimeout(timer);
      waiting.delete(next);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(next);
      reject(
        fail('service_unavailable', { reason: 'organization_busy', detail: 'Too much is under way in this organization.', retryAfterS: 1 }),
      );
    }, waitMs);
    waiting.add(next);
  });
}
