/** What a second look said of a finding. */
export interface Vote {
  /** The fault can come about, the change brings it in, nothing prevents it. */
  readonly stands: boolean;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Whether more votes can change what is decided: no more are asked for then. */
export function isDecided(votes: readonly Vote[], wanted: number): boolean {
  const standing = votes.filter(({ stands }) => stands).length;
  const majority = Math.floor(wanted / 2) + 1;
  return votes.length >= wanted || standing >= majority || votes.length - standing >= majority;
}

/** The finding stands: the majority of the wanted votes says so, and those that do are as sure as it takes (their median). */
export function stands(votes: readonly Vote[], wanted: number, minConfidence: number): boolean {
  const standing = votes.filter((vote) => vote.stands);
  return standing.length >= Math.floor(wanted / 2) + 1 && medianOf(standing.map(({ confidence }) => confidence)) >= minConfidence;
}

/** The confidence of those that say it stands; null: nobody does. */
export function votedConfidence(votes: readonly Vote[]): number | null {
  const standing = votes.filter((vote) => vote.stands).map(({ confidence }) => confidence);
  return standing.length === 0 ? null : medianOf(standing);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}
