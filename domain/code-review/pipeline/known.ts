import { squeeze } from './fingerprint.ts';
import type { Candidate, KnownFinding } from './finding.ts';

/** What the ledger says of a finding: nothing, or that it stands there already. */
export type Recognised = { readonly kind: 'new' } | { readonly kind: 'dismissed' | 'open' | 'back'; readonly known: KnownFinding };

/**
 * Recognises a finding in the ledger of its pull request: by fingerprint, else by the code that proves it, for a model may anchor one fault on other
 * lines each time. What was dismissed is recognised whatever it is called now. `back`: it was fixed or outdated, and is there again.
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

/** A shorter quotation stands in too many others. */
const minOverlap = 8;
