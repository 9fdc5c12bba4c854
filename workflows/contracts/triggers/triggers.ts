/** Signal of `triggerSync`: the row has changed and must be read again. Carries nothing. */
export const scheduleChanged = 'scheduleChanged';

export interface ScheduleInput {
  readonly scheduleId: string;
}

export interface OccurrenceInput extends ScheduleInput {
  /** ISO 8601, without jitter. */
  readonly nominalAt: string;
}

/** Signal of `backfillSchedule`: a run of a backfill has ended, so check again. Carries nothing. */
export const backfillRunEnded = 'backfillRunEnded';

export interface BackfillInput {
  readonly backfillId: string;
}

/** What a backfill has to do next: nothing more, or check again after a while. `isEager`: a signal ends the wait. */
export type BackfillStep = { readonly state: 'ended' } | { readonly state: 'waiting'; readonly waitMs: number; readonly isEager: boolean };

/** Activities of the workflows of schedules, by the names under which histories record them: never rename. */
export interface TriggerActivities {
  /** Does what a schedule's row says for one of its instants: starts a run, or records why not. Happens once per instant, however often it is repeated. */
  fireOccurrence(input: OccurrenceInput): Promise<void>;
  /** Makes Temporal's schedule match the newest row. Returns false when the row has changed meanwhile. */
  syncSchedule(input: ScheduleInput): Promise<boolean>;
  /** Starts the next instants of a backfill, unless it has to wait for a run. The row holds its progress: repeatable anywhere. */
  advanceBackfill(input: BackfillInput): Promise<BackfillStep>;
}
