import type { ReviewKind } from './code-review.ts';

/** Bound repositories: whose App reaches them, the parts of their configuration beside how is reviewed, and what follows their pull requests. */

export const appKinds = ['workspace', 'deployment'] as const;
/** Whose App reaches a repository: one whose key the workspace keeps as a secret, or the deployment's. */
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
  /** Whoever asked has said something: the text of the run's input is theirs. */
  readonly has_text: boolean;
  /** The command that asked for it; null: none did. */
  readonly command_id: string | null;
  /** Of a fix: the one finding it is about; null: all that are open. */
  readonly finding_id: string | null;
}

/** The pull request that a workflow `review:<binding>:<pull>` follows. */
export interface PullRequestInput {
  readonly bindingId: string;
  readonly pullNumber: number;
}

/** Type and signal of the workflow that follows a pull request. The signal carries nothing: the rows say what has come. */
export const pullRequestWorkflow = 'pullRequest';
export const pullRequestChanged = 'pullRequestChanged';

/** The same for a binding: it is stopped, or what its installation reports is taken. */
export const bindingStopWorkflow = 'bindingStop';
export const bindingChanged = 'bindingChanged';

/** What follows a pull request is to do next. */
export type PullRequestStep =
  /** Start this run's workflow as a child. */
  | { readonly kind: 'run'; readonly runId: string }
  /** Judge this command and do what it says. */
  | { readonly kind: 'command'; readonly commandId: string }
  /** Make the review that is due. */
  | { readonly kind: 'open' }
  /** Read how people have reacted to its comments: it is closed. */
  | { readonly kind: 'reactions' }
  /** There is more to take. */
  | { readonly kind: 'again' }
  /** Nothing before this time has passed, the child has ended, or the signal comes. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing is left; the signal starts it anew. */
  | { readonly kind: 'end' };

/** What a command came to, for what is written to the host. `threads`: they are to follow the ledger. */
export interface ObeyedCommand {
  readonly isAccepted: boolean;
  readonly hasReply: boolean;
  readonly threads: boolean;
}

export interface PullRequestActivities {
  /** Takes what has come, in its order, and says what is next. `runId`: the child that is at work. */
  applyEvent(input: PullRequestInput & { readonly runId: string | null }): Promise<PullRequestStep>;
  /** Makes the run that is due; null where none is any more. */
  openReviewRun(input: PullRequestInput): Promise<string | null>;
  /** Asks the host whether the sender may command, and does what the command says. */
  takeCommand(input: { readonly commandId: string }): Promise<ObeyedCommand>;
  /** Ends a command of which the host could not be asked. */
  dropCommand(input: { readonly commandId: string }): Promise<void>;
  /** Shows at the comment that the command was heard, once. */
  reactToCommand(input: { readonly commandId: string }): Promise<void>;
  /** Posts what is answered to a command, once. */
  replyToCommand(input: { readonly commandId: string }): Promise<void>;
  /** Has the host's threads of a pull request follow the ledger. */
  settlePullThreads(input: PullRequestInput): Promise<void>;
  /** Reads the reactions to the comments of a closed pull request, and says when they are read again, if they are. */
  readReactions(input: PullRequestInput): Promise<void>;
  /** Ends a run whose workflow is over and that has not ended. */
  endReviewRun(input: { readonly runId: string }): Promise<void>;
}

export interface BindingActivities {
  /** Takes what the installation reports, and wakes the pull requests of a binding that is stopped. True: there is more. */
  applyBinding(input: { readonly bindingId: string }): Promise<boolean>;
}
