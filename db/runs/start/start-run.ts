import type { UnpricedRule } from '../../billing/prices/prices.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import type { Scoped } from '../../scope.ts';
import type { ReviewRequest } from '../../../workflows/contracts/review/pull-requests.ts';
import type { RunSource } from '../../../workflows/contracts/runs/runs.ts';
import type { RunLimitsDraft } from './run-limits.ts';
import type { OnBusy, RunInput } from '../read/run-view.ts';

/** How a start is judged whose model nobody has priced. */
export interface StartPricing {
  /** What the registry knows of a model; null asks for the default. */
  readonly modelOf: (name: string | null) => { readonly id: string; readonly isFree: boolean } | null;
  readonly unpriced: UnpricedRule;
}

/** The caller who starts: what it sees and its role bound what it may name. */
export interface RunInitiator {
  readonly ctx: Scoped;
  /** Role that the operation demands in the workspace of the run. */
  readonly floor: Role | null;
}

/** A run to be started, whatever the source; ids are checked here. */
export interface StartRun {
  /** Asked for; null: the agent's own, else the default, else the organization's only one. */
  readonly workspaceId: string | null;
  readonly defaultWorkspaceId: string | null;
  readonly agent: { readonly id: string } | { readonly slug: string };
  /** Any revision of the agent; null: the active one. */
  readonly revisionId: string | null;
  /** An active persona of the agent; null: the conversation's, else the agent's default, else none. */
  readonly personaSlug: string | null;
  /** With the attachments that need no look-up (of a parent, of the run that is tried again). */
  readonly input: RunInput;
  /** Files that the input names, looked up as the starter sees them. */
  readonly attachmentIds?: readonly string[];
  /** Null: a conversation of its own. */
  readonly sessionKey: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
  readonly source: RunSource;
  /** The endpoint, schedule, event trigger or channel that starts it. */
  readonly triggerId?: string | null;
  /** The evaluation that it is a case of, or works for as a sub-agent. */
  readonly evaluationRunId?: string | null;
  readonly createdBy: {
    readonly kind: 'user' | 'service_key' | 'system';
    readonly id: string | null;
    readonly actingUserId: string | null;
  };
  readonly onBusy: OnBusy;
  /** Not active before; it then takes its place in the conversation. */
  readonly startAfter?: Date | null;
  readonly limits: RunLimitsDraft;
  readonly metadata: Record<string, unknown>;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** Absent: a model without a price is found out by the run. */
  readonly pricing?: StartPricing;
  /** Whose sight and rank bound it; absent: the platform's own start, judged already. */
  readonly starter?: RunInitiator | null;
  /** Id of the run where it has to be known before. */
  readonly id?: string;
  readonly continued?: ContinuedConversation | null;
  readonly parent?: ParentOfRun | null;
  /** What stands behind a start that no person asked for; absent: nothing. */
  readonly cause?: StartCause;
  /** The pull request that it reviews: its workflow is started by what follows that. */
  readonly review?: ReviewOfRun | null;
}

/** A conversation that is there, whatever its session key: of a run that is tried again, or made for a fork. */
export interface ContinuedConversation {
  readonly conversationId: string;
  readonly retryOfRunId?: string | null;
  readonly forkedAtMessageId?: string | null;
  /** Place of the user message behind copies under the same run. */
  readonly firstPos?: number;
}

/** The run whose call this one executes. Its workflow starts the child's, so that none is asked for here. */
export interface ParentOfRun {
  readonly runId: string;
  readonly rootRunId: string;
  readonly toolCallId: string;
  /** Of the child: ids of its ancestors, root first. */
  readonly lineage: readonly string[];
  /** Of the child: slugs from the root to it. */
  readonly path: readonly string[];
  readonly depth: number;
}

/** What a run of code review is about, as its row keeps it. */
export interface ReviewOfRun {
  readonly bindingId: string;
  readonly pullRequestId: string;
  /** The next one of its pull request. */
  readonly round: number;
  /** Null: nobody has told of the pull request yet. */
  readonly headSha: string | null;
  readonly playbookRevisionId: string;
  readonly request: ReviewRequest;
}

export interface StartCause {
  readonly rootEventId?: string | null;
  readonly eventDepth?: number;
  readonly untrusted?: boolean;
  readonly maxEffect?: 'read' | 'write';
  /** How many hooks of deployments it has come through. */
  readonly hops?: number;
}
