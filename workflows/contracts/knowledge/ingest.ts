/** What the workflow `ingest:<source>:<n>` is told: the source, and the row of its run. */
export interface IngestInput {
  readonly sourceId: string;
  readonly runId: string;
}

/** What `parseSource` is told. */
export interface ParseInput extends IngestInput {
  /** The workflow calls again where no parser is free. Those that an earlier release began don't: their activity waits for a parser. */
  readonly callsAgain?: true;
}

/** `go_on`: there is more to do; `ended`: the run is over, for it has failed, was ended by others, or found nothing new. */
export type IngestOutcome = 'go_on' | 'ended';
/** Besides: the worker parses as many files as it may, and so many wait to come back, this one with them. `busy`: the same in the words of an earlier release. */
export type ParseSourceOutcome = IngestOutcome | 'busy' | { readonly waiting: number };
/** Besides: no room in a budget until a time (ISO 8601), unless a budget is written before. */
export type IndexSourceOutcome = IngestOutcome | { readonly pausedUntil: string };

/** Activities of `ingestSource`, by the names under which histories record them. Each may be cut off anywhere and repeated. */
export interface IngestActivities {
  /** Gets the bytes of a page and stores them; whatever the kind, ends the run when the bytes are those of the last sync. */
  fetchSource(input: IngestInput): Promise<IngestOutcome>;
  /** Makes staged items of the bytes, with their chunks. */
  parseSource(input: ParseInput): Promise<ParseSourceOutcome>;
  /** Makes the vectors of the staged items, from the first that has none. */
  indexSource(input: IngestInput): Promise<IndexSourceOutcome>;
  /** Puts the staged items in the place of the old ones: one transaction. */
  publishSource(input: IngestInput): Promise<IngestOutcome>;
  /** Ends a run that was given up; the items of the last sync stay. */
  failSource(input: IngestInput): Promise<void>;
}
