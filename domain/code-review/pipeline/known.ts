import { squeeze } from './fingerprint.ts';
import type { Candidate, KnownFinding } from './finding.ts';

/** The ledger's knowledge of a finding: none, or the entry of the same finding. */
export type Recognised = { readonly kind: 'new' } | { readonly kind: 'dismissed' | 'open' | 'back'; readonly known: KnownFinding };

/**
 * Recognises a finding in the ledger of its pull request: by fingerprint, else by the code that proves it, since a model may anchor one fault on different
 * lines each time. A dismissed finding is recognised under any category or rule. `back`: it was fixed or outdated, and has come back.
 */
export function recognise(candidate: Candidate, ledger: readonly KnownFinding[], previousPath: string | null = null): Recognised {
  const paths = [candidate.path, previousPath];
  const here = ledger.filter(({ path }) => paths.includes(path));
  const known =
    ledger.find(({ fingerprint }) => fingerprint === candidate.fingerprint) ??
    here.find((each) => each.state === 'dismissed' && isSameEvidence(each, candidate)) ??
    here.find((each) => isSameSubject(each, candidate) && isSameEvidence(each, candidate));
  if (known === undefined) return { kind: 'new' };
  if (known.state === 'dismissed' || known.state === 'open') return { kind: known.state, known };
  return { kind: 'back', known };
}

function isSameSubject(known: KnownFinding, { ruleId, category }: Candidate): boolean {
  return known.category === category || (ruleId !== null && known.ruleId === ruleId);
}

function isSameEvidence(known: KnownFinding, { evidence, side }: Candidate): boolean {
  if (known.side !== side || known.evidence === '') return false;
  const [a, b] = [squeeze(known.evidence), squeeze(evidence)];
  return a === b || (Math.min(a.length, b.length) >= minOverlap && (a.includes(b) || b.includes(a)));
}

/** A shorter quotation occurs in too many others. */
const minOverlap = 8;
