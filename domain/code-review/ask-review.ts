import { lockPull, readBindingState } from '../../db/code-review/pulls/pulls.ts';
import type { StartedRun } from '../runs/start/start-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { refuseStart, startReview, type ReviewStarter } from './start-review.ts';

/** A review that a person asks for. */
export interface AskedByHand {
  /** One that the caller has been shown. */
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly full: boolean;
  readonly post: boolean;
  /** Null: nothing but the review. */
  readonly instructions: string | null;
  readonly by: ReviewStarter;
}

/** Starts it; it is made whatever drafts, filters and pauses say. Null: the binding is gone. Throws as `startReview` does. */
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
