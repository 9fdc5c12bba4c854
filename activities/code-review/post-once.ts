import { claimPost, releasePost, retakePost, settlePost, type PostKey, type PostPlace } from '../../db/code-review/posts.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { HostError } from '../../ports/github/host-error.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { fenced } from '../support/failures.ts';
import { wasFrozenSince } from '../support/process-freeze.ts';
import { onHost } from './host-failure.ts';

/** Something that is to stand at the host once, however often its activity is cut off. */
export interface OncePosted {
  readonly place: PostPlace;
  readonly key: PostKey;
  /** Asks the host whether an earlier attempt, begun at this time, has arrived; gives its id there. */
  readonly find: (since: Date) => Promise<number | null>;
  /** Sends it and gives its id. */
  readonly send: () => Promise<number>;
  /** Asks the host for more of it; gives what is written in the transaction that says that it is posted. */
  readonly prepare?: (id: number) => Promise<(tx: TenantTransaction) => Promise<void> | undefined>;
}

/** A request whose answer was lost may still be at work at the host: who looks at once does not see what it is about to make. */
const settleMs = 5_000;

/**
 * Posts once: a row says `sending` before the request leaves, and `posted` after. Who finds `sending` asks the host before it sends again. Gives the id at the host. Throws in the
 * workflow's words what the host fails with.
 */
export async function postOnce(deps: ActivityDeps, posted: OncePosted): Promise<number> {
  const { place, key, find, send, prepare } = posted;
  const startedAt = performance.now();
  const claim = await transactAsSystem(deps, (tx) => claimPost(tx, place, key));
  if (claim.state === 'posted') return Number(claim.githubId);

  return onHost(async () => {
    const found = claim.state === 'sending' ? await find(claim.since) : null;
    if (found === null && claim.state === 'sending' && claim.ageMs < settleMs)
      throw fail('upstream_failed', {
        reason: 'outcome_unknown',
        detail: 'What an earlier attempt has posted is not known yet.',
        retryAfterS: settleMs / 1_000,
      });
    if (found === null && claim.state === 'sending' && !(await transactAsSystem(deps, (tx) => retakePost(tx, key, claim.seen))))
      throw fenced();
    // Whoever stood still since the claim may have been overtaken, and the next attempt asks the host.
    if (found === null && wasFrozenSince(startedAt)) throw fenced();
    const id = found ?? (await sendOrRelease(deps, posted, send));
    const keep = await prepare?.(id);
    await transactAsSystem(deps, async (tx) => {
      await keep?.(tx);
      await settlePost(tx, key, id);
    });
    return id;
  });
}

async function sendOrRelease(deps: ActivityDeps, { key }: OncePosted, send: () => Promise<number>): Promise<number> {
  try {
    return await send();
  } catch (error) {
    // A refusal tells that nothing was made.
    if (error instanceof HostError && !error.mayHaveActed) await transactAsSystem(deps, (tx) => releasePost(tx, key));
    throw error;
  }
}
