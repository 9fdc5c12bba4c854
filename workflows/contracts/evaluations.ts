/** The kinds of evaluators. */
export const evaluatorTypes = [
  'exact_match',
  'contains',
  'contains_any',
  'contains_all',
  'not_contains',
  'regex',
  'json_schema',
  'json_diff',
  'levenshtein',
  'numeric_diff',
  'embedding_similarity',
  'llm_judge',
  'pairwise',
  'tool_trajectory',
  'citations',
  'latency',
  'cost',
  'tokens',
  'turns',
] as const;
export type EvaluatorType = (typeof evaluatorTypes)[number];

/** An evaluator with all defaults filled in. */
export interface StoredEvaluator {
  readonly key: string;
  readonly type: EvaluatorType;
  readonly params: Readonly<Record<string, unknown>>;
  readonly threshold: number;
  readonly weight: number;
  readonly negate: boolean;
}

/** How an evaluation works, with all defaults filled in. */
export interface EvaluationSettings {
  readonly repetitions: number;
  readonly concurrency: number;
  /** Decimal in the billing currency; null: the evaluation has no cost bound of its own. */
  readonly max_cost: string | null;
  readonly max_error_rate: number;
  readonly item_timeout_s: number;
  readonly tool_mode: 'read_only' | 'live';
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One message of an item that consists of a conversation. */
export interface ItemMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** A text, a conversation whose last message is the question, or a JSON input. */
export type ItemInput = string | readonly ItemMessage[] | Readonly<Record<string, unknown>>;

/** A tool call that an item expects; without `arguments`, any arguments match. */
export interface ExpectedCall {
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** One checked item of a data set; its id is null where none was given. */
export interface DatasetItem {
  readonly id: string | null;
  readonly input: ItemInput;
  readonly expected: unknown;
  readonly context: Readonly<Record<string, unknown>> | null;
  readonly toolsExpected: readonly ExpectedCall[] | null;
  readonly tags: readonly string[];
  readonly cluster: string | null;
  readonly evaluators: readonly string[] | null;
}

/** Input of the workflow `eval:<id>`: the row of the evaluation, which holds everything else. */
export interface EvaluationInput {
  readonly evaluationRunId: string;
}

/** Signal of `evaluation`: the run of an item has ended, or the evaluation is being cancelled. It carries nothing: the receiver reads the rows. */
export const evaluationChanged = 'evaluationChanged';

/** Outcome of a pass over an evaluation: runs are still at work, or nothing is left to start or score. */
export type EvaluationStep = { readonly outcome: 'waiting' | 'done' };

/** Activities of `evaluation`, by the names under which histories record them. Each may be interrupted anywhere and repeated. */
export interface EvaluationActivities {
  /** Makes a queued evaluation running. Returns false when it has ended or no longer exists. */
  beginEvaluation(input: EvaluationInput): Promise<boolean>;
  /** Starts runs of items up to the concurrency and scores those that have ended, as long as there is something to do. */
  advanceEvaluation(input: EvaluationInput): Promise<EvaluationStep>;
  /** Cancels the remaining runs and skips items without an outcome. */
  stopEvaluation(input: EvaluationInput): Promise<void>;
  /** Writes all results into one attachment, once. */
  exportEvaluation(input: EvaluationInput): Promise<void>;
  /** Writes the final summary and the status. */
  finishEvaluation(input: EvaluationInput): Promise<void>;
}
