import type { PostKey, PostPlace } from '../../../db/code-review/posts/posts.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { beginPost, endPost, resendPost, settleMs, withdrawPost } from '../../../domain/code-review/posting/claims.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsSystem } from '../../support/as-system.ts';
import { fenced } from '../../support/failures.ts';
import { wasFrozenSince } from '../../support/process-freeze.ts';
import { onHost } from './host-failure.ts';

/** Something to post to the host once, however often its activity is interrupted. */
export interface OncePosted {
  readonly place: PostPlace;
  readonly key: PostKey;
  /** Asks the host whether an earlier attempt, begun at this time, has arrived; returns its id there, or null. */
  readonly find: (since: Date) => Promise<number | null>;
  /** Sends it and returns its id. */
  readonly send: () => Promise<number>;
  /** Reads more about it from the host; returns what to write in the transaction that records it as posted. */
  readonly prepare?: (id: number) => Promise<(tx: TenantTransaction) => Promise<void> | undefined>;
}

/**
 * Posts once: a row says `sending` before the request leaves, and `posted` afterwards. An attempt that finds `sending` asks the host before it sends again.
 * Returns the id at the host. Host errors are thrown as the workflow's failures.
 */
export async function postOnce(deps: ActivityDeps, posted: OncePosted): Promise<number> {
  const { place, key, find, send, prepare } = posted;
  const startedAt = performance.now();
  const turn = await transactAsSystem(deps, (tx) => beginPost(tx, place, key));
  if (turn.state === 'done') return Number(turn.githubId);

  return onHost(async () => {
    const found = turn.state === 'look' ? await find(turn.since) : null;
    if (found === null && turn.state === 'look') await resend(deps, key, turn);
    // A process that was frozen since the claim may have been overtaken; the next attempt asks the host.
    if (found === null && wasFrozenSince(startedAt)) throw fenced();
    const id = found ?? (await sendOrRelease(deps, posted, send));
    const keep = await prepare?.(id);
    await transactAsSystem(deps, async (tx) => {
      await keep?.(tx);
      await endPost(tx, key, id);
    });
    return id;
  });
}

async function resend(
  deps: ActivityDeps,
  key: PostKey,
  { mayResend, seen }: { readonly mayResend: boolean; readonly seen: string },
): Promise<void> {
  const detail = 'It is not known yet what an earlier attempt has posted.';
  if (!mayResend) throw fail('upstream_failed', { reason: 'outcome_unknown', detail, retryAfterS: settleMs / 1_000 });
  if (!(await transactAsSystem(deps, (tx) => resendPost(tx, key, seen)))) throw fenced();
}

async function sendOrRelease(deps: ActivityDeps, { key }: OncePosted, send: () => Promise<number>): Promise<number> {
  try {
    return await send();
  } catch (error) {
    // A refusal means that nothing was created.
    if (error instanceof HostError && !error.mayHaveActed) await transactAsSystem(deps, (tx) => withdrawPost(tx, key));
    throw error;
  }
}
