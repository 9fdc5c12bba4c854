/** Input of the workflow `index:<kb>`: its base. */
export interface IndexBaseInput {
  readonly kbId: string;
}

/** Signal of `indexBase`: items of the base wait to be indexed. Sent with each start, since the previous execution may be about to end. Carries nothing. */
export const itemsPending = 'itemsPending';

/** Outcome of one pass: `done`, no item waits any more; `more`, some do; `budget`, the budget cannot pay for their vectors now. */
export type IndexOutcome = 'done' | 'more' | 'budget';

/** Activities of `indexBase`, by the names under which histories record them. */
export interface IndexActivities {
  /** Indexes pending items of a base for a few minutes. What it has written stays, however it ends. */
  indexItems(input: IndexBaseInput): Promise<IndexOutcome>;
  /** Marks items that still wait as failed: their text is searched, their vectors are missing. */
  failItems(input: IndexBaseInput): Promise<void>;
}

/** Input of the workflow `maint:write:<tool_call_id>`: the waiting call of `knowledge_write`, its run, and the base that it was meant for. */
export interface WriteItemInput {
  readonly runId: string;
  readonly toolCallId: string;
  readonly kbId: string;
}

/** The activity of `writeItem`, by the name under which histories record it. */
export interface WriteItemActivities {
  /** Tries the write once. Returns true when it has to keep waiting because the base takes no writes yet. */
  writeKnowledge(input: WriteItemInput): Promise<boolean>;
}
