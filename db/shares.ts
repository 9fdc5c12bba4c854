import { fail } from '../workflows/contracts/failure.ts';

/** Connections of a pool that no single organization may hold; they are reserved for the others. */
const keptFree = 2;

/** The share of a pool that each organization holds. */
export interface Shares {
  /**
   * Waits until the organization holds less than its share and counts one more connection as held. Returns the function that gives it back; calling it
   * again does nothing. Throws 503 `service_unavailable` after the time that a statement may wait for a connection. Null (no organization) never waits.
   */
  take(organizationId: string | null): Promise<() => void>;
}

/**
 * Lets one organization hold all but two connections of a pool. A transaction may wait for a lock or for work on what its tenant has sent
 * (`ports/untrusted`), and requests arrive by the hundred: without shares, one organization's transactions would keep all others from the database.
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
      else await handedOver(holder, waitMs); // the holder that gives back leaves it counted

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
  /** In order of arrival. */
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
