/** An item of a source that is not a tool of its revision. The reason is a predicate without a subject: `is beyond the first 200`. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}
