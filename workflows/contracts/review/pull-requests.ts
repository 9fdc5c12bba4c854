import type { ReviewKind } from './code-review.ts';

/**
 * Bound repositories: whose App reaches them, the parts of their configuration that do not say how to review, and the contract of the workflows that follow
 * their pull requests.
 */

export const appKinds = ['workspace', 'deployment'] as const;
/** Whose App reaches a repository: the workspace's, whose key is one of its secrets, or the deployment's. */
export type AppKind = (typeof appKinds)[number];

export const installationStates = ['ok', 'suspended', 'removed'] as const;
export type InstallationState = (typeof installationStates)[number];

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

/** What the run of a review was asked to do; its texts are in the run's input. */
export interface ReviewRequest {
  readonly kind: ReviewKind;
  readonly pull_number: number;
  /** Everything is judged, whatever was reviewed before. */
  readonly full: boolean;
  /** False: nothing is written to the host or the ledger. */
  readonly post: boolean;
  /** Runs started by an event skip pull requests that drafts, filters or a pause exclude; runs that a person asked for do not. */
  readonly is_automatic: boolean;
  /** The person who asked has written something: the text of the run's input is theirs. */
  readonly has_text: boolean;
  /** The command that asked for it; null: none did. */
  readonly command_id: string | null;
  /** For a fix: the one finding it is about; null: all open findings. */
  readonly finding_id: string | null;
}

/** The pull request that a workflow `review:<binding>:<pull>` follows. */
export interface PullRequestInput {
  readonly bindingId: string;
  readonly pullNumber: number;
}

/** Type and signal of the workflow that follows a pull request. The signal carries nothing: the rows say what has arrived. */
export const pullRequestWorkflow = 'pullRequest';
export const pullRequestChanged = 'pullRequestChanged';

/** The same for a binding: it is stopped, or reports of its installation are to be applied. */
export const bindingStopWorkflow = 'bindingStop';
export const bindingChanged = 'bindingChanged';

/** What the workflow of a pull request has to do next. */
export type PullRequestStep =
  /** Start this run's workflow as a child. */
  | { readonly kind: 'run'; readonly runId: string }
  /** Judge this command and do what it says. */
  | { readonly kind: 'command'; readonly commandId: string }
  /** Create the review run that is due. */
  | { readonly kind: 'open' }
  /** Read the reactions to its comments: the pull request is closed. */
  | { readonly kind: 'reactions' }
  /** There is more to process. */
  | { readonly kind: 'again' }
  /** Wait until this time has passed, the child has ended, or the signal comes. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing is left; the signal starts it anew. */
  | { readonly kind: 'end' };

/** Outcome of a command, as far as it concerns what is written to the host. `threads`: the host's threads must be brought in line with the ledger. */
export interface ObeyedCommand {
  readonly isAccepted: boolean;
  readonly hasReply: boolean;
  readonly threads: boolean;
}

export interface PullRequestActivities {
  /** Processes what has arrived, in order, and returns what is next. `runId`: the child that is at work. */
  applyEvent(input: PullRequestInput & { readonly runId: string | null }): Promise<PullRequestStep>;
  /** Creates the run that is due. Returns null when none is due any more. */
  openReviewRun(input: PullRequestInput): Promise<string | null>;
  /** Asks the host whether the sender may give commands, and does what the command says. */
  takeCommand(input: { readonly commandId: string }): Promise<ObeyedCommand>;
  /** Ends a command for which the host could not be asked. */
  dropCommand(input: { readonly commandId: string }): Promise<void>;
  /** Adds a reaction to the comment, once, to show that the command was received. */
  reactToCommand(input: { readonly commandId: string }): Promise<void>;
  /** Posts the reply to a command, once. */
  replyToCommand(input: { readonly commandId: string }): Promise<void>;
  /** Brings the host's threads of a pull request in line with the ledger. */
  settlePullThreads(input: PullRequestInput): Promise<void>;
  /** Reads the reactions to the comments of a closed pull request, and stores when to read them again, if at all. */
  readReactions(input: PullRequestInput): Promise<void>;
  /** Ends a run that has not ended although its workflow is over. */
  endReviewRun(input: { readonly runId: string }): Promise<void>;
}

export interface BindingActivities {
  /** Applies what the installation reports, and wakes the pull requests of a binding that is stopped. Returns true when there is more. */
  applyBinding(input: { readonly bindingId: string }): Promise<boolean>;
}
