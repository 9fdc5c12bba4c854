import { hashesOf } from '../../../ports/diff/hunk-hash.ts';
import { parsePatch, type FilePatch } from '../../../ports/diff/patch.ts';
import type { PathReading } from '../../../ports/diff/paths-work.ts';
import type { Candidate, RawFinding } from '../../../domain/code-review/pipeline/finding.ts';
import type { JudgedFile } from '../../../domain/code-review/pipeline/gates.ts';
import type { HashedFile } from '../../../domain/code-review/pipeline/surface.ts';

/** A patch of one file: lines with their signs, whose numbers begin at `at`. */
export function patchOf(
  path: string,
  hunks: readonly { readonly at: number; readonly lines: readonly string[]; readonly section?: string }[],
): FilePatch {
  const text = hunks.map(({ at, lines, section = '' }) => {
    const old = lines.filter((line) => !line.startsWith('+')).length;
    const fresh = lines.filter((line) => !line.startsWith('-')).length;
    return `@@ -${at},${old} +${at},${fresh} @@ ${section}\n${lines.join('\n')}\n`;
  });
  const [patch] = parsePatch(`diff --git a/${path} b/${path}\nindex 1..2 100644\n--- a/${path}\n+++ b/${path}\n${text.join('')}`);
  if (patch === undefined) throw new Error('no patch');
  return patch;
}

export const reading: PathReading = { taken: [], languages: ['typescript'], kind: 'programming' };

export function fileOf(patch: FilePatch, hunks = patch.hunks): JudgedFile {
  return { patch, hunks, reading, pathRules: [], languageRules: [] };
}

export function hashed(patch: FilePatch): HashedFile {
  return { ...patch, hashes: hashesOf(patch) };
}

export function rawFinding(given: Partial<RawFinding> = {}): RawFinding {
  return {
    path: 'src/a.ts',
    start_line: 12,
    end_line: 12,
    side: 'RIGHT',
    category: 'bug',
    rule_id: null,
    severity: 'high',
    confidence: 0.9,
    title: 'It divides by zero',
    scenario: 'With no items the count is 0.',
    evidence_quote: 'return sum / items.length;',
    suggestion: null,
    ...given,
  };
}

export function candidate(given: Partial<Candidate> = {}): Candidate {
  return {
    fingerprint: 'a'.repeat(64),
    category: 'bug',
    ruleId: null,
    severity: 'high',
    confidence: 0.9,
    path: 'src/a.ts',
    anchor: { path: 'src/a.ts', side: 'RIGHT', startLine: 12, line: 12 },
    saidLine: 12,
    side: 'RIGHT',
    title: 'It divides by zero',
    scenario: 'With no items the count is 0.',
    evidence: 'return sum / items.length;',
    suggestion: null,
    alsoAt: [],
    ...given,
  };
}

/** The change that most samples are about: a new line 12 in `mean`. */
export const mean = patchOf('src/a.ts', [
  {
    at: 9,
    section: 'export function mean(items: number[]) {',
    lines: [
      ' ',
      '   let sum = 0;',
      '   for (const item of items) sum += item;',
      '-  return 0;',
      '+  return sum / items.length;',
      ' }',
      ' ',
    ],
  },
  {
    at: 40,
    section: 'export function last(items: number[]) {',
    lines: [' ', '   // the last one', '-  return items[0];', '+  return items[items.length];', ' }'],
  },
]);
