/** Signal of `triggerSync`: the row has changed since, look again. Carries nothing. */
export const scheduleChanged = 'scheduleChanged';

export interface ScheduleInput {
  readonly scheduleId: string;
}

export interface OccurrenceInput extends ScheduleInput {
  /** ISO 8601, without jitter. */
  readonly nominalAt: string;
}

/** Activities of the workflows of schedules, by the names under which histories record them: never rename. */
export interface TriggerActivities {
  /** Does with one instant of a schedule what its row says: starts a run, or notes why not. Once an instant, whoever repeats it. */
  fireOccurrence(input: OccurrenceInput): Promise<void>;
  /** Makes Temporal's schedule what the newest row says. False: the row has changed meanwhile. */
  syncSchedule(input: ScheduleInput): Promise<boolean>;
}
