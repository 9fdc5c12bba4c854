import type { UnpricedRule } from '../../billing/prices/prices.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import type { Scoped } from '../../scope.ts';
import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import type { ReviewRequest } from '../../../workflows/contracts/review/pull-requests.ts';
import type { RunSource } from '../../../workflows/contracts/runs/runs.ts';
import type { OnBusy, RunInput } from '../read/run-view.ts';
import { completeLimits, narrowedLimits, type RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import { money } from '../../money.ts';
import type { RunLimits } from '../run-types.ts';

/** How to judge a start whose model has no price. */
export interface StartPricing {
  /** Returns what the registry knows of a model; null asks for the default model. */
  readonly modelOf: (name: string | null) => { readonly id: string; readonly isFree: boolean } | null;
  readonly unpriced: UnpricedRule;
}

/** The caller who starts a run: its visibility and role bound what it may name. */
export interface RunInitiator {
  readonly ctx: Scoped;
  /** Role that the operation requires in the workspace of the run. */
  readonly floor: Role | null;
}

/** A run to be started, whatever its source; its ids are checked here. */
export interface StartRun {
  /** The requested workspace; null: the agent's own, else the default, else the organization's only one. */
  readonly workspaceId: string | null;
  readonly defaultWorkspaceId: string | null;
  readonly agent: { readonly id: string } | { readonly slug: string };
  /** Any revision of the agent; null: the active one. */
  readonly revisionId: string | null;
  /** An active persona of the agent; null: the conversation's, else the agent's default, else none. */
  readonly personaSlug: string | null;
  /** Includes the attachments that need no lookup (those of a parent, or of the run being retried). */
  readonly input: RunInput;
  /** Files that the input names, looked up with the starter's visibility. */
  readonly attachmentIds?: readonly string[];
  /** Null: a new conversation for this run alone. */
  readonly sessionKey: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
  readonly source: RunSource;
  /** The endpoint, schedule, event trigger or channel that starts it. */
  readonly triggerId?: string | null;
  /** The evaluation that the run is a case of, or works for as a sub-agent. */
  readonly evaluationRunId?: string | null;
  readonly createdBy: {
    readonly kind: 'user' | 'service_key' | 'system';
    readonly id: string | null;
    readonly actingUserId: string | null;
  };
  readonly onBusy: OnBusy;
  /** The run does not become active before this time; it then takes its place in the conversation. */
  readonly startAfter?: Date | null;
  readonly limits: RunLimitsDraft;
  readonly metadata: Record<string, unknown>;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** Absent: the run itself discovers that a model has no price. */
  readonly pricing?: StartPricing;
  /** The caller whose visibility and rank bound the start; absent: the platform's own start, which was already checked. */
  readonly starter?: RunInitiator | null;
  /** Id of the run, where it must be known beforehand. */
  readonly id?: string;
  readonly continued?: ContinuedConversation | null;
  readonly parent?: ParentOfRun | null;
  /** The cause of a start that no person requested; absent: none. */
  readonly cause?: StartCause;
  /** The pull request that the run reviews: the workflow that follows the pull request starts the run's workflow. */
  readonly review?: ReviewOfRun | null;
}

/** An existing conversation, whatever its session key: that of a retried run, or one created for a fork. */
export interface ContinuedConversation {
  readonly conversationId: string;
  readonly retryOfRunId?: string | null;
  readonly forkedAtMessageId?: string | null;
  /** Position of the user message after copied messages of the same run. */
  readonly firstPos?: number;
}

/** The run whose call this run executes. Its workflow starts the child's, so no start is written here. */
export interface ParentOfRun {
  readonly runId: string;
  readonly rootRunId: string;
  readonly toolCallId: string;
  /** The child's ancestors by id, root first. */
  readonly lineage: readonly string[];
  /** The agent slugs from the root to the child. */
  readonly path: readonly string[];
  readonly depth: number;
}

/** What a run of code review is about, as its row stores it, and what starts it. */
export interface ReviewOfRun {
  readonly bindingId: string;
  readonly pullRequestId: string;
  /** The next round of its pull request. */
  readonly round: number;
  /** Null: the pull request's head has not been reported yet. */
  readonly headSha: string | null;
  readonly playbookRevisionId: string;
  readonly request: ReviewRequest;
  /** Starts or wakes the workflow that follows the pull request. */
  readonly wake: OutboxMessage;
}

export interface StartCause {
  readonly rootEventId?: string | null;
  readonly eventDepth?: number;
  readonly untrusted?: boolean;
  readonly maxEffect?: 'read' | 'write';
  /** How many deployments' hooks it has passed through. */
  readonly hops?: number;
}

/** Limits that a start may request; they can only lower what the revision allows. */
export type RunLimitsDraft = Partial<RunLimits>;

/** Returns the limits of a run: the lower of what is requested and what the revision allows. Limits stored by an older release are completed with defaults. */
export function limitsOfRun(asked: RunLimitsDraft, revision: Partial<RevisionLimits>): RunLimits {
  const { max_tool_calls: _, max_cost: maxCost, ...limits } = narrowedLimits(completeLimits(revision), asked);
  return { ...limits, max_cost: maxCost === null ? null : money(maxCost) };
}
