/** Type of the workflow that starts the runs of an event. */
export const eventFanOut = 'fanOut';

export interface FanOutInput {
  readonly eventId: string;
}

/** Activities of `fanOut`, by the names under which histories record them: never rename. */
export interface EventActivities {
  /** Does for each trigger of an event what the rows say, once a trigger, whoever repeats it. False: some are left. */
  fanOutEvent(input: FanOutInput): Promise<boolean>;
}
