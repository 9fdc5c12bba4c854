/** The end of each comment on a finding: a lost ledger is rebuilt by it. */
export function findingMarker(bindingId: string, fingerprint: string): string {
  return `<!-- longhaul:${bindingId}:${fingerprint} -->`;
}

/** Part of everything that a run posts: a post whose answer was lost is found again by it. */
export function runMarker(runId: string, ordinal: number): string {
  return `<!-- longhaul-run:${runId}:${ordinal} -->`;
}

/** Ordinal in the marker of a summary that was edited in place: no post of a run has it, so that no post is mistaken for the summary. */
export const summaryOrdinal = 999_999;

/** The fingerprint at the end of one of our comments; null when it has none of this binding. The caller has verified that our App wrote it. */
export function readFindingMarker(body: string, bindingId: string): string | null {
  const [, binding, fingerprint] = findingPattern.exec(body.trimEnd().slice(-200)) ?? [];
  return binding === bindingId ? (fingerprint ?? null) : null;
}

/** Run and ordinal in one of our posts; null: none. */
export function readRunMarker(body: string): { readonly runId: string; readonly ordinal: number } | null {
  const [, runId, ordinal] = runPattern.exec(body) ?? [];
  return runId === undefined ? null : { runId, ordinal: Number(ordinal) };
}

const findingPattern = /<!-- longhaul:([0-9a-f-]{36}):([0-9a-f]{64}) -->$/u;
const runPattern = /<!-- longhaul-run:([0-9a-f-]{36}):(\d{1,6}) -->/u;
