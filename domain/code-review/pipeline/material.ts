import type { Hunk } from '../../../ports/diff/patch.ts';
import type { ReviewConfig, ReviewMode, ReviewTemplates, SkipReason } from '../../../workflows/contracts/review/code-review.ts';
import type { KnownFinding } from './finding.ts';
import type { FollowUp } from './follow-up.ts';
import type { JudgedFile } from './gates.ts';
import type { PromptPull } from './prompt-variables.ts';
import { renderBatches, type DiffBatch } from './render-diff.ts';
import type { UnreadReason } from './select-files.ts';

/** A finding of the ledger with the texts that a second look needs. */
export interface LedgerFinding extends KnownFinding {
  readonly startLine: number;
  readonly endLine: number;
  readonly confidence: number;
  readonly title: string;
  readonly scenario: string;
}

/** A file that is read, with the lines around its hunks at the head. */
export interface MaterialFile extends JudgedFile {
  /** Ranges of the file at the head: number of the first line, and the lines. */
  readonly around: readonly { readonly from: number; readonly lines: readonly string[] }[];
  /** Indexes of the passes whose paths include it. */
  readonly passes: readonly number[];
}

/** The whole input of a review, read once and stored, so that a repeated stage works on the same input. */
export interface ReviewMaterial {
  readonly repoFullName: string;
  readonly pull: PromptPull;
  readonly headSha: string;
  readonly baseSha: string | null;
  readonly mergeBaseSha: string | null;
  readonly mode: ReviewMode;
  readonly skipReason: SkipReason | null;
  /** The budget was used up before the start, but the binding wants a summary: no model is called. */
  readonly isSummaryOnly: boolean;
  readonly instructions: string;
  /** The question of an ask, and the thread that it belongs to; empty for a review. */
  readonly question: string;
  readonly thread: string;
  readonly files: readonly MaterialFile[];
  /** By the index of a pass, the batches in which it reads its files. */
  readonly batches: readonly (readonly DiffBatch[])[];
  readonly changedFiles: number;
  readonly unread: readonly { readonly path: string; readonly reason: UnreadReason }[];
  /** By path, hashes that count as judged when the review succeeds and reads every selected file. */
  readonly hashes: Readonly<Record<string, readonly string[]>>;
  /** The same for files that may stay unread after all: hashes that were judged before. */
  readonly hashesBefore: Readonly<Record<string, readonly string[]>>;
  readonly ledger: readonly LedgerFinding[];
  /** By id of an open finding of the ledger. */
  readonly followUps: Readonly<Record<string, FollowUp>>;
}

/** The rules of a review, pinned with its run. */
export interface ReviewRules {
  readonly templates: ReviewTemplates;
  readonly config: Pick<ReviewConfig, 'verify' | 'max_findings' | 'min_confidence' | 'min_severity' | 'summary' | 'request_changes'>;
}

/** Returns the batches of each pass. Rendering takes most of a review's time: it is done once, and only once for passes that read the same files. */
export function batchesOf(files: readonly MaterialFile[], passes: number): DiffBatch[][] {
  const rendered = new Map<string, DiffBatch[]>();
  return Array.from({ length: passes }, (_, pass) => {
    const own = files.filter((file) => file.passes.includes(pass));
    const key = own.map(({ patch }) => patch.path).join('\0');
    const batches = rendered.get(key) ?? renderBatches(own);
    rendered.set(key, batches);
    return batches;
  });
}

/** Some numbered lines of a file at the head, as far as the material has them. */
export function codeAround(
  file: MaterialFile | undefined,
  from: number,
  to: number,
): readonly { readonly line: number; readonly text: string }[] {
  return (file?.around ?? []).flatMap(({ from: first, lines }) =>
    lines.flatMap((text, at) => {
      const line = first + at;
      return line >= from - around && line <= to + around ? [{ line, text }] : [];
    }),
  );
}

const around = 40;
/** The most characters around a file's hunks. */
const maxAround = 200_000;

/** The lines of a file within reach of some hunks. */
export function linesAround(text: string, hunks: readonly Hunk[]): MaterialFile['around'] {
  const lines = text.split('\n');
  const ranges: [from: number, to: number][] = [];
  for (const { newStart, newLines } of hunks) {
    const from = Math.max(1, newStart - around);
    const to = Math.min(lines.length, newStart + newLines + around);
    const last = ranges.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else ranges.push([from, to]);
  }
  let left = maxAround;
  return ranges.flatMap(([from, to]) => {
    const stretch = lines.slice(from - 1, to);
    left -= stretch.reduce((sum, line) => sum + line.length + 1, 0);
    return left < 0 || stretch.length === 0 ? [] : [{ from, lines: stretch }];
  });
}
