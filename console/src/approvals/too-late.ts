import { isCode, type ApiError } from '@longhaul/client';
import { reasonOf } from '../app/problem.ts';

/** Whether an answer was refused because the question had one already, or its time was over. */
export function isTooLate(error: unknown): error is ApiError {
  if (!isCode(error, 'state_conflict')) return false;
  const reason = reasonOf(error);
  return reason === 'approval_resolved' || reason === 'approval_expired';
}
