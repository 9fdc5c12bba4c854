/** The result of a second look at a finding. */
export interface Vote {
  /** The fault can occur, the change introduces it, and nothing prevents it. */
  readonly stands: boolean;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Whether the decision is final, so that no more votes are requested. */
export function isDecided(votes: readonly Vote[], wanted: number): boolean {
  const standing = votes.filter(({ stands }) => stands).length;
  const majority = Math.floor(wanted / 2) + 1;
  return votes.length >= wanted || standing >= majority || votes.length - standing >= majority;
}

/** Whether the finding stands: the majority of the wanted votes says so, and their median confidence reaches the minimum. */
export function stands(votes: readonly Vote[], wanted: number, minConfidence: number): boolean {
  const standing = votes.filter((vote) => vote.stands);
  return standing.length >= Math.floor(wanted / 2) + 1 && medianOf(standing.map(({ confidence }) => confidence)) >= minConfidence;
}

/** The median confidence of the votes for the finding; null when there are none. */
export function votedConfidence(votes: readonly Vote[]): number | null {
  const standing = votes.filter((vote) => vote.stands).map(({ confidence }) => confidence);
  return standing.length === 0 ? null : medianOf(standing);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}
