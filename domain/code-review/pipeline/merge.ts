import type { Candidate } from './finding.ts';
import { squeeze } from './fingerprint.ts';
import { rankOf } from './gates.ts';

const maxAlsoAt = 20;

/**
 * Joins findings with one root cause: those with one fingerprint, and those with the same rule or category and the same title or evidence, at several
 * locations. The most severe and most confident one is posted; the others become further locations of it.
 */
export function mergeSame(candidates: readonly Candidate[]): Candidate[] {
  return joinGroups(candidates, (a, b) => a.fingerprint === b.fingerprint || isOverlapping(a, b) || isSameCause(a, b));
}

/**
 * Joins findings that a model considers one issue in different words: groups of indexes into the list. An invalid index is ignored, a repeated one counts once.
 */
export function mergeGroups(candidates: readonly Candidate[], groups: readonly (readonly number[])[]): Candidate[] {
  const groupOf = new Map<Candidate, number>();
  for (const [at, group] of groups.entries()) {
    for (const index of group) {
      const candidate = candidates[index];
      if (candidate !== undefined && !groupOf.has(candidate)) groupOf.set(candidate, at);
    }
  }
  return joinGroups(candidates, (a, b) => groupOf.has(a) && groupOf.get(a) === groupOf.get(b));
}

function joinGroups(candidates: readonly Candidate[], isSame: (a: Candidate, b: Candidate) => boolean): Candidate[] {
  const groups: Candidate[][] = [];
  for (const candidate of candidates) {
    const group = groups.find((each) => each.some((other) => isSame(other, candidate)));
    if (group === undefined) groups.push([candidate]);
    else group.push(candidate);
  }
  return groups.flatMap(join);
}

function join(group: readonly Candidate[]): Candidate[] {
  const [first, ...others] = group.toSorted(byWeight);
  if (first === undefined) return [];
  const places = new Map<string, { path: string; line: number }>();
  for (const place of others.flatMap((other) => [lineOf(other), ...other.alsoAt])) places.set(`${place.line}:${place.path}`, place);
  for (const place of first.alsoAt) places.set(`${place.line}:${place.path}`, place);
  const own = lineOf(first);
  places.delete(`${own.line}:${own.path}`);
  const alsoAt = [...places.values()].toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  return [{ ...first, alsoAt: alsoAt.slice(0, maxAlsoAt) }];
}

/** The order in which findings are reported: most severe first, then most confident, then by location. */
export function byWeight(a: Candidate, b: Candidate): number {
  const [left, right] = [lineOf(a), lineOf(b)];
  return (
    weightOf(b) - weightOf(a) ||
    rankOf(a.severity) - rankOf(b.severity) ||
    (left.path === right.path ? left.line - right.line : left.path < right.path ? -1 : 1) ||
    (a.fingerprint < b.fingerprint ? -1 : 1)
  );
}

const weights = { critical: 16, high: 8, medium: 4, low: 2, nit: 1 } as const;

function weightOf({ severity, confidence }: Candidate): number {
  return weights[severity] * confidence;
}

function lineOf({ path, anchor, saidLine }: Candidate): { path: string; line: number } {
  return { path, line: anchor?.line ?? saidLine };
}

/** Several passes find one fault on overlapping lines. */
function isOverlapping(a: Candidate, b: Candidate): boolean {
  if (a.path !== b.path || a.anchor === null || b.anchor === null || a.side !== b.side) return false;
  const meets = a.anchor.startLine <= b.anchor.line && b.anchor.startLine <= a.anchor.line;
  return meets && a.category === b.category;
}

function isSameCause(a: Candidate, b: Candidate): boolean {
  if ((a.ruleId ?? a.category) !== (b.ruleId ?? b.category)) return false;
  return squeeze(a.title).toLowerCase() === squeeze(b.title).toLowerCase() || squeeze(a.evidence) === squeeze(b.evidence);
}
