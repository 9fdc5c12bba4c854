import type { ReviewConfig, SkipReason, TextFilter } from '../../../workflows/contracts/review/code-review.ts';

/** The facts of a pull request that are known before its diff. */
export interface TriageFacts {
  readonly isDraft: boolean;
  readonly isPaused: boolean;
  readonly labels: readonly string[];
  readonly author: string;
  readonly headRef: string;
  readonly baseRef: string;
  /** The number of files as the host counts them. */
  readonly changedFiles: number;
  readonly hasReviewer: boolean;
  /** A person requested this review: skip rules and pause do not apply. */
  readonly isAsked: boolean;
}

/** The result of the child process: whether the patterns of the title filters and the globs of the branch filters match. */
export interface FilterHits {
  readonly title: { readonly include: boolean; readonly exclude: boolean };
  readonly branch: { readonly include: boolean; readonly exclude: boolean };
}

/** Why the pull request is not reviewed now; null: it is. The file limit applies to requested reviews too. */
export function skipReasonOf(facts: TriageFacts, config: Pick<ReviewConfig, 'drafts' | 'filters'>, hits: FilterHits): SkipReason | null {
  if (!facts.hasReviewer) return 'no_reviewer';
  const { filters } = config;
  if (filters.max_files !== null && facts.changedFiles > filters.max_files) return 'too_many_files';
  if (facts.isAsked) return null;
  if (facts.isPaused) return 'paused';
  if (facts.isDraft && !config.drafts) return 'draft';
  const isTaken =
    passes(filters.titles, hits.title) &&
    passes(filters.branches, hits.branch) &&
    passes(filters.labels, hitsOf(filters.labels, facts.labels)) &&
    passes(filters.authors, hitsOf(filters.authors, [facts.author]));
  return isTaken ? null : 'filtered';
}

/** Excluded texts never pass; with a non-empty include list, only included ones do. */
function passes(filter: TextFilter, hits: { readonly include: boolean; readonly exclude: boolean }): boolean {
  return !hits.exclude && (filter.include.length === 0 || hits.include);
}

/** Labels and names are compared as the host does, without case. */
function hitsOf(filter: TextFilter, texts: readonly string[]): { include: boolean; exclude: boolean } {
  const own = new Set(texts.map((text) => text.toLowerCase()));
  const fits = (list: readonly string[]) => list.some((each) => own.has(each.toLowerCase()));
  return { include: fits(filter.include), exclude: fits(filter.exclude) };
}
