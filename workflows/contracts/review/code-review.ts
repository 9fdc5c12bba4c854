/** How bad a finding is, worst first. */
export const severities = ['critical', 'high', 'medium', 'low', 'nit'] as const;
export type Severity = (typeof severities)[number];

/** What a finding may be about. */
export const findingCategories = [
  'bug',
  'security',
  'data_loss',
  'concurrency',
  'performance',
  'api_break',
  'tests',
  'docs',
  'style',
] as const;
export type FindingCategory = (typeof findingCategories)[number];

/** Kinds of generated files that a playbook may exclude. */
export const generatedKinds = ['protobuf', 'openapi', 'graphql', 'lockfiles'] as const;
export type GeneratedKind = (typeof generatedKinds)[number];

/** The state of a finding; see `docs/code-review.md`. */
export const findingStates = ['open', 'fixed', 'outdated', 'dismissed'] as const;
export type FindingState = (typeof findingStates)[number];

/** Where a finding is posted: on its lines, on its file, in the summary, or nowhere. */
export const placements = ['inline', 'file', 'summary', 'none'] as const;
export type Placement = (typeof placements)[number];

/** What a run of code review does. */
export const reviewKinds = ['review', 'fix', 'ask'] as const;
export type ReviewKind = (typeof reviewKinds)[number];

/** How much of a pull request a review covers. */
export type ReviewMode = 'full' | 'incremental' | 'no_change';

/** How a review ended: nothing is open, something is open, limits left files unread, or no review was made. */
export type ReviewVerdict = 'clean' | 'findings' | 'partial' | 'skipped';

/** Why a review was not made. */
export type SkipReason = 'draft' | 'filtered' | 'paused' | 'too_many_files' | 'budget' | 'no_reviewer';

/** One pass over the diff, with its own focus. */
export interface ReviewPass {
  readonly key: string;
  readonly focus: string;
  /** A model of the registry; absent: the reviewer's own. */
  readonly model?: string;
  /** Globs; absent: all files. */
  readonly paths?: readonly string[];
}

/** A rule in words for matching files; it may set the severity of what it finds. */
export interface PathRule {
  readonly paths: readonly string[];
  readonly instructions: string;
  readonly severity_override?: Severity;
}

/** A rule for a language; findings name it by its id. */
export interface LanguageRule {
  readonly id: string;
  readonly text: string;
  readonly severity: Severity;
  readonly examples?: string;
}

/** The templates of a playbook's revision; the platform default's fill in what is absent. */
export interface ReviewTemplates {
  readonly schema_version: 1;
  readonly summary: { readonly prompt: string; readonly sections: readonly string[] };
  readonly review: { readonly prompt: string; readonly passes: readonly ReviewPass[] };
  readonly verify: { readonly prompt: string; readonly enabled: boolean; readonly votes: 1 | 3 | 5 };
  readonly check: { readonly title: string; readonly summary: string };
  readonly reply: { readonly prompt: string };
  readonly edit: { readonly prompt: string };
  readonly severity: {
    readonly levels: readonly Severity[];
    readonly inline_min: Severity;
    readonly block_min: Severity;
    readonly definitions: Readonly<Partial<Record<Severity, string>>>;
  };
  readonly confidence: {
    readonly min: number;
    readonly exceptions: readonly { readonly category: FindingCategory; readonly min: number }[];
  };
  readonly categories: readonly FindingCategory[];
  readonly path_filters: readonly string[];
  readonly generated: readonly GeneratedKind[];
  readonly path_rules: readonly PathRule[];
  /** By the language's name in Linguist, in lower case. */
  readonly language_rules: Readonly<Record<string, readonly LanguageRule[]>>;
  readonly ignore_rules: readonly string[];
  readonly limits: {
    readonly max_findings: number;
    readonly max_files: number;
    readonly max_patch_tokens: number;
    readonly max_calls: number;
  };
  readonly output: { readonly language: string; readonly tone: string; readonly grouping: string };
}

/** Lists of texts to include and to exclude. */
export interface TextFilter {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** `review_config` of a binding, with all defaults filled in. */
export interface ReviewConfig {
  readonly playbook_id: string | null;
  readonly drafts: boolean;
  readonly incremental: boolean;
  readonly verify: boolean;
  readonly check_run: boolean;
  /** Null: the playbook's. */
  readonly max_findings: number | null;
  readonly min_confidence: number | null;
  readonly min_severity: Severity;
  readonly request_changes: boolean;
  readonly summary: 'always' | 'findings' | 'never';
  readonly debounce_seconds: number;
  readonly repo_instructions: boolean;
  readonly filters: {
    readonly paths: readonly string[];
    /** Regular expressions of RE2. */
    readonly titles: TextFilter;
    readonly labels: TextFilter;
    readonly authors: TextFilter;
    /** Globs. */
    readonly branches: TextFilter;
    readonly max_files: number | null;
  };
}

/** A finding as `output.json` of a review shows it. */
export interface OutputFinding {
  readonly id: string;
  readonly fingerprint: string;
  readonly rule_id: string | null;
  readonly category: FindingCategory;
  readonly severity: Severity;
  readonly confidence: number;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly start_line: number;
  readonly end_line: number;
  readonly title: string;
  readonly scenario: string;
  readonly suggestion: string | null;
  readonly state: FindingState;
  readonly placement: Placement;
  readonly comment_id: number | null;
  readonly also_at: readonly { readonly path: string; readonly line: number }[];
  readonly first_head_sha: string;
  readonly last_head_sha: string;
}

/** What a review has counted. */
export interface ReviewCounts {
  /** Findings that models returned, those that passed the gates, and those that the second look refuted. */
  readonly raw: number;
  readonly gated: number;
  readonly refuted: number;
  readonly inline: number;
  readonly file: number;
  /** In the summary only. */
  readonly folded: number;
  /** Open findings of earlier reviews. */
  readonly carried: number;
  readonly fixed: number;
  readonly dismissed: number;
}

/** `output.json` of a run of code review. */
export interface CodeReviewOutput {
  readonly schema_version: 1;
  readonly kind: ReviewKind;
  readonly binding_id: string;
  readonly playbook_revision_id: string | null;
  readonly repo_full_name: string;
  readonly pull_number: number;
  readonly base_sha: string | null;
  readonly merge_base_sha: string | null;
  readonly head_sha: string | null;
  readonly mode: ReviewMode;
  readonly verdict: ReviewVerdict;
  readonly skip_reason: SkipReason | null;
  readonly counts: ReviewCounts;
  readonly files: {
    readonly changed: number;
    readonly reviewed: number;
    readonly unread: readonly { readonly path: string; readonly reason: string }[];
    readonly unread_total: number;
  };
  readonly findings: readonly OutputFinding[];
  readonly posted: {
    readonly review_ids: readonly number[];
    readonly summary_review_id: number | null;
    readonly check_run_id: number | null;
    readonly commit_sha: string | null;
    readonly branch: string | null;
  };
}
