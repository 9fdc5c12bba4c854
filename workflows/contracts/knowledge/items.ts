/** What the workflow `index:<kb>` is told: its base. */
export interface IndexBaseInput {
  readonly kbId: string;
}

/** Signal of `indexBase`: items of the base wait for their index. Sent with each start, since the one before may be about to end. Carries nothing. */
export const itemsPending = 'itemsPending';

/** What one pass came to: `done`, no item waits any more; `more`, some do; `budget`, no money is left for their vectors now. */
export type IndexOutcome = 'done' | 'more' | 'budget';

/** Activities of `indexBase`, by the names under which histories record them. */
export interface IndexActivities {
  /** Indexes pending items of a base for a few minutes. What it has written stays, whatever becomes of it. */
  indexItems(input: IndexBaseInput): Promise<IndexOutcome>;
  /** Marks what still waits as failed: its text is searched, its vectors are missing. */
  failItems(input: IndexBaseInput): Promise<void>;
}

/** What the workflow `maint:write:<tool_call_id>` is told: the call of `knowledge_write` that waits, its run, and the base that it was meant for. */
export interface WriteItemInput {
  readonly runId: string;
  readonly toolCallId: string;
  readonly kbId: string;
}

/** The activity of `writeItem`, by the name under which histories record it. */
export interface WriteItemActivities {
  /** Tries the write once. True: it waits on, for the base takes no writes yet. */
  writeKnowledge(input: WriteItemInput): Promise<boolean>;
}
