/** Type of the workflow that starts the runs of an event. */
export const eventFanOut = 'fanOut';

export interface FanOutInput {
  readonly eventId: string;
}

/** Activities of `fanOut`, by the names under which histories record them: never rename. */
export interface EventActivities {
  /** Does what the rows say for each trigger of an event, once per trigger however often it is repeated. Returns false when some are left. */
  fanOutEvent(input: FanOutInput): Promise<boolean>;
}
