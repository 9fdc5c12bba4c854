/** Input of the workflow `ingest:<source>:<n>`: the source and the row of its run. */
export interface IngestInput {
  readonly sourceId: string;
  readonly runId: string;
}

/** Input of `parseSource`. */
export interface ParseInput extends IngestInput {
  /** The workflow calls again when no parser is free. Workflows begun by an earlier release don't: their activity waits for a parser. */
  readonly callsAgain?: true;
}

/** `go_on`: there is more to do; `ended`: the run is over, because it failed, was ended from outside, or found nothing new. */
export type IngestOutcome = 'go_on' | 'ended';
/**
 * In addition: the worker already parses as many files as it may, and `waiting` files, this one included, wait to be retried. `busy` is an earlier release's
 * form of this.
 */
export type ParseSourceOutcome = IngestOutcome | 'busy' | { readonly waiting: number };
/** In addition: a budget has no room until a time (ISO 8601), unless a budget is written before. */
export type IndexSourceOutcome = IngestOutcome | { readonly pausedUntil: string };

/** Activities of `ingestSource`, by the names under which histories record them. Each may be interrupted anywhere and repeated. */
export interface IngestActivities {
  /** Fetches the bytes of a page and stores them; for every kind of source, ends the run when the bytes equal those of the last sync. */
  fetchSource(input: IngestInput): Promise<IngestOutcome>;
  /** Turns the bytes into staged items with their chunks. */
  parseSource(input: ParseInput): Promise<ParseSourceOutcome>;
  /** Computes the vectors of the staged items, starting with the first that has none. */
  indexSource(input: IngestInput): Promise<IndexSourceOutcome>;
  /** Replaces the old items by the staged ones in one transaction. */
  publishSource(input: IngestInput): Promise<IngestOutcome>;
  /** Ends a run that was given up; the items of the last sync stay. */
  failSource(input: IngestInput): Promise<void>;
}
