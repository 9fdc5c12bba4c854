import { createHash } from 'node:crypto';
import { numberOn, type Anchor } from '../../../ports/diff/anchors.ts';
import type { Hunk, PatchLine } from '../../../ports/diff/patch.ts';

/** What identifies a finding: its location and subject, without line numbers and without the model's words. */
export interface FingerprintParts {
  readonly path: string;
  /** The id of a rule, else the category. */
  readonly about: string;
  readonly anchor: Omit<Anchor, 'path'>;
  readonly hunk: Hunk;
}

/**
 * SHA-256 (hex) of path, rule or category, the anchored code with two lines on both sides, its white space normalised, and the enclosing symbol. It stays the
 * same when the model words the finding differently or lines move.
 */
export function fingerprintOf({ path, about, anchor, hunk }: FingerprintParts): string {
  const code = codeAround(hunk, anchor);
  return createHash('sha256')
    .update(JSON.stringify([path, about, code, symbolOf(hunk, anchor)]))
    .digest('hex');
}

/** The fingerprint of a finding without an anchor: uses its evidence instead of the code. */
export function unanchoredFingerprint(path: string, about: string, evidence: string): string {
  return createHash('sha256')
    .update(JSON.stringify([path, about, squeeze(evidence)]))
    .digest('hex');
}

/** Normalises white space, which does not distinguish code. */
export function squeeze(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}

function codeAround(hunk: Hunk, { side, startLine, line }: Omit<Anchor, 'path'>): string {
  return linesOfSide(hunk, side)
    .filter((each) => {
      const number = numberOn(side, each) ?? 0;
      return number >= startLine - margin && number <= line + margin;
    })
    .map(({ text }) => squeeze(text))
    .filter((text) => text !== '')
    .join('\n');
}

const margin = 2;

function linesOfSide(hunk: Hunk, side: Anchor['side']): PatchLine[] {
  return hunk.lines.filter((line) => numberOn(side, line) !== null);
}

/** The nearest head of a function or type above the code, in the hunk or in git's hunk header; empty when there is none. */
function symbolOf(hunk: Hunk, { side, startLine }: Omit<Anchor, 'path'>): string {
  const above = linesOfSide(hunk, side).filter((line) => (numberOn(side, line) ?? 0) <= startLine);
  const head = above.findLast(({ text }) => symbolHead.test(text));
  return (symbolHead.exec(head?.text ?? hunk.section)?.[1] ?? '').slice(0, 200);
}

const symbolHead =
  /^\s{0,40}(?:(?:export|default|public|private|protected|static|async|abstract|final|pub|unsafe|inline|override)\s+){0,5}(?:function\*?|def|fn|func|class|interface|struct|enum|trait|impl|module|type|sub)\s+(?:\([^)]{0,100}\)\s*)?([\w$.:]+)/u;
