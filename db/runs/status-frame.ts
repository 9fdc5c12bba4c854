import type { RunStatus, WaitingOn } from '../../workflows/contracts/runs/runs.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';

export interface StatusChange {
  readonly status: RunStatus;
  readonly previous: RunStatus | null;
  readonly waitingOn?: WaitingOn | null;
  readonly waitingUntil?: string | null;
  readonly queuePosition?: number | null;
  readonly reason?: string | null;
}

/** Returns the frame of a status change that neither starts nor ends the run. */
export function statusFrame(change: StatusChange): FrameDraft {
  return {
    type: 'run.status',
    data: {
      status: change.status,
      previous: change.previous,
      waiting_on: change.waitingOn ?? null,
      waiting_until: change.waitingUntil ?? null,
      queue_position: change.queuePosition ?? null,
      reason: change.reason?.slice(0, 200).toWellFormed() ?? null,
      attempt: 1,
      retry: null,
      discarded_message_ids: [],
    },
  };
}
