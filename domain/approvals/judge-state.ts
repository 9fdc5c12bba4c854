import canonicalize from 'canonicalize';
import { fail } from '../../workflows/contracts/failure.ts';
import { toApprovalView, type ApprovalRow } from '../../db/approvals/approval-view.ts';
import type { LockedQuestion, CheckedResolution } from '../../db/approvals/question-rows.ts';

/**
 * Returns whether a locked question is still open or already has this answer. Throws 409 `args_changed`, `approval_expired` after its time whether that has
 * been recorded or not, `approval_resolved` for another answer, each with the question in its current state.
 */
export function judgeState(checked: CheckedResolution, locked: LockedQuestion | undefined): 'open' | 'same' {
  if (!locked) throw fail('not_found');
  const asked = checked.resolution.args_hash;
  if (asked !== undefined && asked !== locked.argsHash)
    throw conflict('args_changed', 'The arguments have changed: they do not match args_hash.', locked);
  if (locked.status === 'pending' && !locked.isLate) return 'open';
  if (locked.status === 'pending' || locked.status === 'expired') throw conflict('approval_expired', 'The question has expired.', locked);
  if (isSame(checked, locked)) return 'same';
  throw conflict('approval_resolved', 'The question has already been answered differently.', locked);
}

/** Whether it is the same decision with the same content. Accompanying text counts if it is the call's result. */
function isSame({ resolution, args }: CheckedResolution, locked: ApprovalRow): boolean {
  switch (resolution.decision) {
    case 'approve':
      return locked.status === 'approved';
    case 'reject':
      return locked.status === 'rejected' && (resolution.comment ?? null) === locked.comment;
    case 'edit':
      return locked.status === 'edited' && canonicalize(args) === canonicalize(locked.editedArgs);
    case 'respond':
      if (locked.status !== 'responded') return false;
      return locked.reason === 'auth' || canonicalize(resolution.response ?? null) === canonicalize(locked.response ?? null);
    default:
      return resolution.decision satisfies never;
  }
}

function conflict(reason: 'args_changed' | 'approval_expired' | 'approval_resolved', detail: string, locked: LockedQuestion) {
  return fail('state_conflict', { reason, detail, context: { approval: toApprovalView(locked) } });
}
