import type { Scope } from './access.ts';

/** Repositories, their configuration as it is stored and shown, and playbooks. */

export const appKinds = ['workspace', 'deployment'] as const;
/** Whose App reaches a repository: one whose key the workspace keeps as a secret, or the deployment's. */
export type AppKind = (typeof appKinds)[number];

export const installationStates = ['ok', 'suspended', 'removed'] as const;
export type InstallationState = (typeof installationStates)[number];

export const severities = ['critical', 'high', 'medium', 'low', 'nit'] as const;
/** From the worst to the least. */
export type Severity = (typeof severities)[number];

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

export const findingStates = ['open', 'fixed', 'outdated', 'dismissed'] as const;
export type FindingState = (typeof findingStates)[number];

export const placements = ['inline', 'file', 'summary', 'none'] as const;
export type Placement = (typeof placements)[number];

export const reviewKinds = ['review', 'fix', 'ask'] as const;
export type ReviewKind = (typeof reviewKinds)[number];

export const reviewCommands = ['review', 'fix', 'ask', 'pause', 'resume', 'resolve', 'dismiss', 'config', 'help'] as const;
export type ReviewCommandName = (typeof reviewCommands)[number];

export const generatedKinds = ['protobuf', 'openapi', 'graphql', 'lockfiles'] as const;

/** Patterns of which one must match and none may. */
export interface IncludeExclude {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface ReviewFilters {
  /** Globs; `!` excludes, one that includes makes it an allowlist. */
  readonly paths: readonly string[];
  /** Regular expressions (RE2). */
  readonly titles: IncludeExclude;
  readonly labels: IncludeExclude;
  readonly authors: IncludeExclude;
  /** Globs of the base branch. */
  readonly branches: IncludeExclude;
  /** Larger pull requests are skipped; null: none is. */
  readonly max_files: number | null;
}

export interface ReviewConfig {
  /** Null: the default of the workspace, else of the organization, else of the platform. */
  readonly playbook_id: string | null;
  readonly drafts: boolean;
  readonly incremental: boolean;
  readonly verify: boolean;
  readonly check_run: boolean;
  /** Inline; null: the playbook's. */
  readonly max_findings: number | null;
  readonly min_confidence: number | null;
  readonly min_severity: Severity;
  readonly request_changes: boolean;
  readonly summary: 'always' | 'findings' | 'never';
  readonly debounce_seconds: number;
  readonly repo_instructions: boolean;
  readonly filters: ReviewFilters;
}

export interface EditorConfig {
  readonly mode: 'off' | 'suggest' | 'push' | 'branch';
  readonly branch_prefix: string;
  readonly max_rounds: number;
  readonly test_commands: readonly string[];
  readonly allow_forks: boolean;
  readonly protected_paths: readonly string[];
}

export interface ReviewBudgetConfig {
  /** Decimals; null: no bound. */
  readonly per_review: string | null;
  readonly per_pr: string | null;
  readonly per_day: string | null;
  readonly currency: string;
  readonly on_exceed: 'skip' | 'summary_only';
}

export interface ReviewWorkspaceConfig {
  readonly clone: 'partial' | 'shallow' | 'full';
  readonly max_clone_mb: number;
  readonly sandbox_tool_id: string | null;
  readonly env_secret_names: readonly string[];
}

/** The templates of a playbook's revision, complete: what its author left out is the platform default's. */
export interface PlaybookTemplates {
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
  readonly generated: readonly (typeof generatedKinds)[number][];
  readonly path_rules: readonly PathRule[];
  /** By the name of the language, such as TypeScript. */
  readonly language_rules: Readonly<Record<string, readonly LanguageRule[]>>;
  readonly ignore_rules: readonly string[];
  readonly limits: {
    readonly max_findings: number;
    readonly max_files: number;
    readonly max_patch_tokens: number;
    readonly max_calls: number;
  };
  readonly output: { readonly language: string; readonly tone: string; readonly grouping: 'file' | 'severity' | 'category' };
}

export interface ReviewPass {
  readonly key: string;
  readonly focus: string;
  readonly model?: string;
  /** Globs; absent: every file. */
  readonly paths?: readonly string[];
}

export interface PathRule {
  readonly paths: readonly string[];
  readonly instructions: string;
  readonly severity_override?: Severity;
}

export interface LanguageRule {
  readonly id: string;
  readonly text: string;
  readonly severity: Severity;
  readonly examples: readonly string[];
}

/** What a review's run was asked for; its texts lie in the run's input. */
export interface ReviewRequest {
  readonly kind: ReviewKind;
  readonly pull_number: number;
  /** Everything is judged, whatever was before. */
  readonly full: boolean;
  /** False: nothing is written to the host or the ledger. */
  readonly post: boolean;
  /** Runs that an event started skip what drafts, filters and a pause keep out; those that a person asked for don't. */
  readonly is_automatic: boolean;
  /** The command that asked for it; null: none did. */
  readonly command_id: string | null;
  /** Of a fix: the one finding it is about; null: all that are open. */
  readonly finding_id: string | null;
}

/** Whose playbook it is. */
export type PlaybookScope = Scope;

/** The pull request that a workflow `review:<binding>:<pull>` follows. */
export interface PullRequestInput {
  readonly bindingId: string;
  readonly pullNumber: number;
}

/** The child of `pullRequest` that does one run: workflow `codeReviewRun`, id `run:<run_id>`. Everything else stands in the run's row. */
export interface CodeReviewRunInput {
  readonly runId: string;
}

/** Type and signal of the workflow that follows a pull request. The signal carries nothing: the rows say what has come. */
export const pullRequestWorkflow = 'pullRequest';
export const pullRequestChanged = 'pullRequestChanged';

/** The same for a binding: it is stopped, or what its installation reports is taken. */
export const bindingStopWorkflow = 'bindingStop';
export const bindingChanged = 'bindingChanged';

/** What follows a pull request is to do next. */
export type PullRequestStep =
  /** Start this run's workflow as a child; while one is at work: let it end. */
  | { readonly kind: 'run'; readonly runId: string }
  /** The run at work is of an older head, or is not wanted any more. */
  | { readonly kind: 'cancel' }
  /** Nothing before this time has passed or the signal comes. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing is left; the signal starts it anew. */
  | { readonly kind: 'end' };

export interface PullRequestActivities {
  /** Takes what has come, in its order, and says what is next. `runId`: the child that is at work. */
  applyEvent(input: PullRequestInput & { readonly runId: string | null }): Promise<PullRequestStep>;
  /** Makes the run that is due; null where none is any more. */
  openReviewRun(input: PullRequestInput): Promise<string | null>;
}

export interface BindingActivities {
  /** Takes what the installation reports, and wakes the pull requests of a binding that is stopped. True: there is more. */
  applyBinding(input: { readonly bindingId: string }): Promise<boolean>;
}
