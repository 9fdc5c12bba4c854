/** Ends each comment on a finding: by it a lost ledger is rebuilt. */
export function findingMarker(bindingId: string, fingerprint: string): string {
  return `<!-- longhaul:${bindingId}:${fingerprint} -->`;
}

/** Stands in whatever a run has posted: by it a post whose answer was lost is found again. */
export function runMarker(runId: string, ordinal: number): string {
  return `<!-- longhaul-run:${runId}:${ordinal} -->`;
}

/** In the marker of a summary that was edited in place: no post of a run has this ordinal, so that none is taken for it. */
export const summaryOrdinal = 999_999;

/** The fingerprint that a comment of ours ends with; null: it is none of this binding. The caller has made sure that our App wrote it. */
export function readFindingMarker(body: string, bindingId: string): string | null {
  const [, binding, fingerprint] = findingPattern.exec(body.trimEnd().slice(-200)) ?? [];
  return binding === bindingId ? (fingerprint ?? null) : null;
}

/** Run and ordinal that a post of ours carries; null: none. */
export function readRunMarker(body: string): { readonly runId: string; readonly ordinal: number } | null {
  const [, runId, ordinal] = runPattern.exec(body) ?? [];
  return runId === undefined ? null : { runId, ordinal: Number(ordinal) };
}

const findingPattern = /<!-- longhaul:([0-9a-f-]{36}):([0-9a-f]{64}) -->$/u;
const runPattern = /<!-- longhaul-run:([0-9a-f-]{36}):(\d{1,6}) -->/u;
