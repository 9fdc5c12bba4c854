import { lockPull, readBindingState } from '../../db/code-review/pulls/pulls.ts';
import type { StartedRun } from '../runs/start/start-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { refuseStart, startReview, type ReviewStarter } from './start-review.ts';

/** A review that a person requests. */
export interface AskedByHand {
  /** A binding that the caller may see. */
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly full: boolean;
  readonly post: boolean;
  /** Null: no instructions beyond the review itself. */
  readonly instructions: string | null;
  readonly by: ReviewStarter;
}

/** Starts the review regardless of drafts, filters and pauses. Returns null when the binding no longer exists. Throws as `startReview` does. */
export async function askForReview(
  tx: TenantTransaction,
  { bindingId, pullNumber, full, post, instructions, by }: AskedByHand,
): Promise<StartedRun | null> {
  const binding = await readBindingState(tx, bindingId);
  if (!binding) return null;
  refuseStart(binding, { kind: 'review' });
  const pull = await lockPull(tx, binding, pullNumber);
  const request = { kind: 'review', full, post, is_automatic: false, command_id: null, finding_id: null } as const;
  return startReview(tx, { binding, pull, request, text: instructions, by });
}
