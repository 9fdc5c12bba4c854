/** Signal of `triggerSync`: the row has changed since, look again. Carries nothing. */
export const scheduleChanged = 'scheduleChanged';

export interface ScheduleInput {
  readonly scheduleId: string;
}

export interface OccurrenceInput extends ScheduleInput {
  /** ISO 8601, without jitter. */
  readonly nominalAt: string;
}

/** Signal of `backfillSchedule`: a run of a backfill has ended, look again. Carries nothing. */
export const backfillRunEnded = 'backfillRunEnded';

export interface BackfillInput {
  readonly backfillId: string;
}

/** What of a backfill is to be done: nothing more, or look again after a while. `isEager`: a signal ends the wait. */
export type BackfillStep = { readonly state: 'ended' } | { readonly state: 'waiting'; readonly waitMs: number; readonly isEager: boolean };

/** Activities of the workflows of schedules, by the names under which histories record them: never rename. */
export interface TriggerActivities {
  /** Does with one instant of a schedule what its row says: starts a run, or notes why not. Once an instant, whoever repeats it. */
  fireOccurrence(input: OccurrenceInput): Promise<void>;
  /** Makes Temporal's schedule what the newest row says. False: the row has changed meanwhile. */
  syncSchedule(input: ScheduleInput): Promise<boolean>;
  /** Starts the next instants of a backfill, unless it has to wait for a run. The row says how far it is: repeatable anywhere. */
  advanceBackfill(input: BackfillInput): Promise<BackfillStep>;
}
