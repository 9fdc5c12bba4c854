import type { FilePatch, PatchLine } from '../../../ports/diff/patch.ts';
import type { HostComment } from '../../../ports/github/reviews.ts';
import type { HostThread } from '../../../ports/github/threads.ts';
import {
  findingCategories,
  severities,
  type FindingCategory,
  type FindingState,
  type Severity,
} from '../../../workflows/contracts/review/code-review.ts';
import { readFindingMarker } from '../pipeline/markers.ts';

/** A finding as its comment shows it. */
export interface ReadBackFinding {
  readonly fingerprint: string;
  readonly commentId: number;
  readonly threadId: string | null;
  readonly state: FindingState;
  readonly category: FindingCategory;
  readonly severity: Severity;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number;
  readonly endLine: number;
  readonly placement: 'inline' | 'file';
  readonly title: string;
  readonly scenario: string;
  /** Its lines at the head; empty: they are no longer part of the change. */
  readonly evidence: string;
}

export interface ReadBackSource {
  readonly threads: readonly HostThread[];
  /** Login of our App. */
  readonly login: string;
  readonly bindingId: string;
  /** The change at the head. */
  readonly patches: readonly FilePatch[];
}

/**
 * Reads findings from comments that our App has written (`login`) and that end with a marker of the binding; a marker by any other author counts for nothing.
 * Of several comments with one fingerprint the oldest counts. A thread that our App has resolved means fixed, one that a person has resolved means dismissed.
 */
export function readBack(comments: readonly HostComment[], { threads, login, bindingId, patches }: ReadBackSource): ReadBackFinding[] {
  const found = new Map<string, ReadBackFinding>();
  for (const comment of comments) {
    if (comment.author !== login || comment.inReplyTo !== null) continue;
    const fingerprint = readFindingMarker(comment.body, bindingId);
    if (fingerprint === null || found.has(fingerprint)) continue;
    const thread = threads.find(({ commentId }) => commentId === comment.id);
    found.set(fingerprint, {
      fingerprint,
      ...textsOf(comment),
      ...placeOf(comment),
      state: stateOf(comment, thread, login),
      evidence: evidenceOf(comment, patches),
      commentId: comment.id,
      threadId: thread?.id ?? null,
    });
  }
  return [...found.values()];
}

function stateOf({ isOnFile, line }: HostComment, thread: HostThread | undefined, login: string): FindingState {
  if (thread?.isResolved) {
    const { resolvedBy } = thread;
    return resolvedBy === null || resolvedBy === login || `${resolvedBy}[bot]` === login ? 'fixed' : 'dismissed';
  }
  return thread?.isMinimized || (line === null && !isOnFile) ? 'outdated' : 'open';
}

function placeOf({
  path,
  side,
  line,
  startLine,
  isOnFile,
}: HostComment): Pick<ReadBackFinding, 'path' | 'side' | 'startLine' | 'endLine' | 'placement'> {
  return { path, side, startLine: startLine ?? line ?? 1, endLine: line ?? 1, placement: isOnFile ? 'file' : 'inline' };
}

function evidenceOf({ path, side, line, startLine }: HostComment, patches: readonly FilePatch[]): string {
  if (line === null) return '';
  const from = startLine ?? line;
  const numberOf = ({ oldLine, newLine }: PatchLine) => (side === 'LEFT' ? oldLine : newLine);
  const lines = patches.find((patch) => patch.path === path)?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  return lines
    .filter((each) => {
      const number = numberOf(each);
      return number !== null && number >= from && number <= line;
    })
    .map(({ text }) => text)
    .join('\n');
}

const maxTitle = 80;

/** The form of `comment-text.ts`: a line `**severity · category: title**`, then the scenario. */
function textsOf({ body }: HostComment): Pick<ReadBackFinding, 'title' | 'scenario' | 'severity' | 'category'> {
  const [, severity, category, title = ''] = /^\*\*(\w+) · ([\w ]+): (.*)\*\*/u.exec(body) ?? [];
  const [, scenario = ''] = body.split('\n\n');
  return {
    title: title.replaceAll('\\*', '*').slice(0, maxTitle).toWellFormed(),
    scenario: scenario.startsWith('<!--') ? '' : scenario,
    severity: severities.find((each) => each === severity) ?? 'medium',
    category: findingCategories.find((each) => each.replaceAll('_', ' ') === category) ?? 'bug',
  };
}
