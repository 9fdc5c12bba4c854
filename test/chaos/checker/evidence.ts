import type { Frame } from '../../../db/streams/frame.schema.ts';
import type { Effect } from '../../fakes/tool-server.ts';
import type { ClientRecord, Seen } from './record.ts';

/** All that there is to judge, as plain values: what clients know, what stands in the database, what the servers outside counted. */
export interface Evidence {
  readonly client: ClientRecord;
  readonly runs: readonly RunFact[];
  readonly steps: readonly StepFact[];
  readonly calls: readonly CallFact[];
  readonly messages: readonly MessageFact[];
  readonly approvals: readonly ApprovalFact[];
  readonly inputs: readonly InputFact[];
  readonly ledger: readonly LedgerFact[];
  readonly windows: readonly WindowFact[];
  readonly alerts: readonly AlertFact[];
  /** Notices to webhooks, as they stand in the database. */
  readonly notices: readonly NoticeFact[];
  /** The ids under which notices arrived at their receiver, in the order of their arrival. */
  readonly arrived: readonly string[];
  /** What the deployment sends as answers of runs: callbacks and parts of channels, as they stand in the database. */
  readonly answers: readonly AnswerFact[];
  /** Deliveries of webhooks by their senders' ids, which are the markers of their causes. */
  readonly deliveries: readonly DeliveryFact[];
  /** The ids under which answers arrived. */
  readonly answered: readonly string[];
  readonly leftovers: Leftovers;
  /** Texts of frames by run, in the order of the archive. */
  readonly archives: ReadonlyMap<string, readonly string[]>;
  /** What GET answers for each run that was asked for; null: anything but 200. */
  readonly views: ReadonlyMap<string, RunViewFact | null>;
  /** Whole replays, and resumes in the middle, after the end. */
  readonly replays: readonly Seen[];
  readonly effects: readonly Effect[];
  readonly modelCalls: readonly ModelCallFact[];
  /** Workers that one call has killed, by its body. */
  readonly kills: ReadonlyMap<string, number>;
  /** How often a worker for runs has ended: killed, stopped or restarted. A freeze is no end. */
  readonly workersEnded: number;
}

export interface RunFact {
  readonly id: string;
  readonly conversation_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly retry_of_run_id: string | null;
  /** Endpoint, schedule, event trigger or channel. */
  readonly trigger_id: string | null;
  readonly finished_at: string | null;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly error: { readonly code: string; readonly reason: string | null } | null;
  readonly turn_no: number | null;
  readonly input_text: string | null;
  readonly pending_approvals: number;
  readonly holds_conversation: boolean;
}

export interface Retry {
  readonly attempt: number;
  readonly cause: string;
  readonly error_code: string | null;
}

export interface StepFact {
  readonly run_id: string;
  readonly step: number;
  readonly kind: string;
  readonly status: string;
  readonly attempt: number;
  readonly retries: readonly Retry[];
}

export interface CallFact {
  readonly id: string;
  readonly run_id: string;
  readonly slug: string;
  readonly effect: 'read' | 'write';
  readonly is_idempotent: boolean;
  readonly client_owned: boolean;
  readonly gate: string | null;
  readonly args: Readonly<Record<string, unknown>> | null;
  readonly state: string;
  readonly attempt: number;
  readonly error: { readonly code: string; readonly reason?: string | null } | null;
  readonly child_run_id: string | null;
}

export interface MessageFact {
  readonly id: string;
  readonly run_id: string;
  readonly conversation_id: string;
  readonly turn: number;
  readonly pos: number;
  readonly role: string;
  readonly state: string;
  readonly text: string;
  readonly tool_call_ids: readonly string[];
  readonly tool_call_id: string | null;
}

export interface ApprovalFact {
  readonly id: string;
  readonly run_id: string;
  readonly tool_call_id: string | null;
  readonly reason: string;
  readonly status: string;
  readonly edited_args: Readonly<Record<string, unknown>> | null;
}

export interface InputFact {
  readonly id: string;
  readonly run_id: string;
  readonly read_at_step: number | null;
}

export interface LedgerFact {
  readonly run_id: string;
  readonly call_key: string;
  readonly provider_request_id: string | null;
  readonly input: number;
  readonly output: number;
  readonly estimated: boolean;
  /** Written after the end of its tree's root: what a try cost that was cut off then. */
  readonly is_late: boolean;
}

/** A window of a budget, or the cap of a run; amounts are decimals. */
export interface WindowFact {
  /** `day`, `month`, `run:<id>`. */
  readonly name: string;
  /** Null: a cap. */
  readonly budget_id: string | null;
  readonly budget_version: number;
  readonly limit: string | null;
  readonly is_enforced: boolean;
  readonly spent: string;
  readonly reserved: string;
  /** What the ledger says of it. */
  readonly ledger: string;
  /** The dearest call in it. */
  readonly max_call: string;
  /** Steps that an admin let pass. */
  readonly allowed: number;
}

/** An alert of a budget, and how often each receiver has a notice of each event. */
export interface AlertFact {
  readonly id: string;
  readonly budget_id: string;
  readonly severity: string;
  readonly notices: readonly { readonly event: string; readonly target_key: string; readonly times: number }[];
}

/** A notice of an alert to a webhook. */
export interface NoticeFact {
  readonly id: string;
  readonly event: string;
  readonly status: string;
}

/** A callback, or a part of an answer to a channel. */
export interface AnswerFact {
  readonly id: string;
  readonly run_id: string;
  readonly kind: string;
  readonly state: string;
}

export interface DeliveryFact {
  readonly delivery_key: string;
  readonly status: string;
  readonly error_code: string | null;
  readonly error_reason: string | null;
  readonly run_id: string | null;
}

/** What nothing may be left of. */
export interface Leftovers {
  readonly liveRuns: number;
  readonly openWorkflows: number;
  readonly unsentOutbox: number;
  readonly heldConversations: number;
  readonly openScopes: number;
  readonly heldBudgets: number;
  readonly waitingNotices: number;
  readonly openGroups: number;
  readonly openEvents: number;
  readonly waitingAnswers: number;
  readonly dueSchedules: number;
}

export interface Usage {
  readonly model_calls: number;
  readonly tokens: Readonly<Record<'input' | 'output' | 'cached_read' | 'cached_write' | 'reasoning', number>>;
}

export interface RunViewFact {
  readonly status: string;
  readonly finish_reason: string | null;
  readonly output: { readonly text: string | null } | null;
  readonly error: unknown;
  readonly last_seq: number;
  readonly usage: { readonly own: Usage; readonly subtree: Usage };
}

export interface ModelCallFact {
  readonly requestId: string;
  /** Markers of its prompt, the newest last. */
  readonly markers: readonly string[];
  readonly outcome: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Something that is not as promised, in words. */
export type Fault = string;

/** Frames of a run's own, out of its archive: without copies of its descendants'. */
export function ownFrames(runId: string, archive: readonly Frame[]): Frame[] {
  return archive.filter((frame) => frame.run_id === runId);
}

/** The runs of each root, itself first. */
export function treesOf(runs: readonly RunFact[]): Map<string, RunFact[]> {
  return Map.groupBy(runs, (run) => run.root_run_id);
}
