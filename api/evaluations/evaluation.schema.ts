import Type from 'typebox';
import { ratings } from '../../db/feedback/feedback.entity.ts';
import { evaluationStatuses } from '../../db/evaluations/evaluation-run.entity.ts';
import type { EvaluationRow } from '../../db/evaluations/evaluations.ts';
import type { ResultRow } from '../../db/evaluations/results.ts';
import { iso } from '../../db/sql.ts';
import { toResultView } from '../../domain/evaluations/result-view.ts';
import { errorCodes } from '../../workflows/contracts/error-codes.ts';
import { terminalRunStatuses } from '../../workflows/contracts/runs/runs.ts';
import {
  Amount,
  closed,
  exactlyOneOf,
  FreeObject,
  given,
  idOf,
  integer,
  listOf,
  nullable,
  oneOf,
  stating,
  text,
  Timestamp,
} from '../http/input/schema.ts';
import { Evaluator } from './evaluator.schema.ts';
import { EvaluationResultView, EvaluationSummary, EvaluationSummaryShort } from './evaluation-summary.schema.ts';

export const EvaluationParams = closed({ evaluation_run_id: idOf('Evaluation') });

export const EvaluationFilters = closed({
  agent_id: Type.Optional(idOf('Agent')),
  status: Type.Optional(oneOf(evaluationStatuses)),
});

const Message = closed({ role: oneOf(['user', 'assistant']), content: text(65_536, { minLength: 1 }) }, { $id: 'EvaluationMessage' });

const Item = closed(
  {
    id: Type.Optional(
      text(120, {
        minLength: 1,
        description: 'Identifies the item in comparisons with other evaluations; defaults to its position, from 1',
      }),
    ),
    input: Type.Unsafe<string | { role: 'user' | 'assistant'; content: string }[] | Record<string, unknown>>({
      description: 'The input for the agent: a text, a JSON object, or messages, the last one from the user. At most 64 KB',
      oneOf: [text(65_536, { minLength: 1 }), Type.Array(Message, { minItems: 1, maxItems: 200 }), FreeObject],
    }),
    expected: Type.Optional(Type.Unsafe<unknown>({ description: 'The expected answer: a text, or any JSON. At most 32 KB' })),
    context: Type.Optional(nullable({ ...FreeObject, description: 'For judges only, never for the agent' })),
    tools_expected: Type.Optional(
      nullable(
        listOf(closed({ tool: text(120, { minLength: 1 }), arguments: Type.Optional(FreeObject) }, { $id: 'ExpectedToolCall' }), {
          maxItems: 50,
          description: 'Tool calls that the agent should make',
        }),
      ),
    ),
    tags: Type.Optional(listOf(text(60, { minLength: 1 }), { maxItems: 10, description: 'Figures are broken down by tag' })),
    cluster: Type.Optional(
      nullable(
        text(120, { minLength: 1, description: 'Groups related items, such as those of one document; intervals take it into account' }),
      ),
    ),
    evaluators: Type.Optional(
      nullable(
        listOf(text(60, { minLength: 1 }), { maxItems: 20, description: 'Keys of the evaluators that apply to the item; null: all' }),
      ),
    ),
  },
  { $id: 'EvaluationItem', description: 'One question' },
);

const From = closed(
  {
    source: oneOf(['feedback', 'runs'], { description: 'Runs with feedback, or any runs; corrections become the expected answers' }),
    agent_id: Type.Optional(idOf('Agent', 'The agent whose runs are used; defaults to the evaluated agent')),
    rating: Type.Optional(oneOf(ratings, { description: 'Only with feedback; defaults to down' })),
    status: Type.Optional(oneOf(terminalRunStatuses, { description: 'Only runs with this outcome' })),
    from: Type.Optional(Timestamp),
    to: Type.Optional(Timestamp),
    limit: Type.Optional(integer({ minimum: 1, maximum: 1_000, description: 'How many of the newest runs; defaults to 100' })),
  },
  { $id: 'EvaluationDatasetFrom', description: 'Runs that become items, as far as the caller can read them' },
);

/** Bytes of a data set as text. */
export const maxDatasetBytes = 10 * 1_024 * 1_024;

/** Exactly one source, in a form that goes with it. */
const source = {
  allOf: [
    exactlyOneOf('items', 'text', 'attachment_id', 'from'),
    {
      oneOf: [
        { required: ['format'], properties: { format: { enum: ['jsonl', 'csv'] } }, anyOf: [given('text'), given('attachment_id')] },
        { properties: { format: { const: 'inline' } }, anyOf: [given('items'), given('from')] },
      ],
    },
  ],
};

const Dataset = stating(
  closed(
    {
      format: Type.Optional(oneOf(['inline', 'jsonl', 'csv'], { description: 'Defaults to inline' })),
      items: Type.Optional(Type.Array(Item, { minItems: 1, maxItems: 5_000, description: 'With inline' })),
      text: Type.Optional(text(maxDatasetBytes, { minLength: 1, description: 'Only with jsonl and csv' })),
      attachment_id: Type.Optional(idOf('Attachment', 'Only with jsonl and csv: a file with the items')),
      from: Type.Optional(From),
    },
    { $id: 'EvaluationDataset', description: 'Exactly one of items, text, attachment_id and from; at most 5,000 items and 10 MB' },
  ),
  source,
);

const settings = {
  repetitions: Type.Optional(integer({ minimum: 1, maximum: 10, description: 'How often each item is run; defaults to 1' })),
  concurrency: Type.Optional(integer({ minimum: 1, maximum: 20, description: 'Maximum number of concurrent runs; defaults to 5' })),
  max_cost: Type.Optional(nullable({ ...Amount, description: 'Maximum total cost of its runs and judges; above 0' })),
  max_error_rate: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'Share of results in error above which the evaluation fails; defaults to 0.2' }),
  ),
  item_timeout_s: Type.Optional(integer({ minimum: 10, maximum: 3_600, description: 'Maximum duration of one run; defaults to 600' })),
  tool_mode: Type.Optional(
    oneOf(['read_only', 'live'], { description: 'read_only (the default) refuses calls that write; live requires the role admin' }),
  ),
  metadata: Type.Optional({ ...FreeObject, description: 'Arbitrary data, at most 20 keys and 4 KB; shown in the summary' }),
};

export const EvaluationCreate = closed(
  {
    agent_id: idOf('Agent'),
    agent_revision_id: Type.Optional(nullable(idOf('AgentRevision', 'A revision of that agent; defaults to the active one'))),
    dataset_name: Type.Optional(nullable(text(120, { minLength: 1 }))),
    dataset: Dataset,
    evaluators: Type.Array(Evaluator, { minItems: 1, maxItems: 20 }),
    ...settings,
    baseline_evaluation_run_id: Type.Optional(nullable(idOf('Evaluation', 'A succeeded evaluation of the workspace to compare with'))),
  },
  { $id: 'EvaluationCreate', description: 'An agent, a data set, and how its answers are evaluated' },
);

const shown = {
  id: idOf('Evaluation'),
  agent_id: idOf('Agent'),
  agent_revision_id: nullable(idOf('AgentRevision')),
  dataset_name: nullable(text(120)),
  evaluators: Type.Array(Evaluator, { maxItems: 20, description: 'With all defaults filled in' }),
  status: oneOf(evaluationStatuses, { description: 'succeeded: all results have ended, whatever their scores' }),
};

export const EvaluationRunView = closed(
  { ...shown, summary: EvaluationSummaryShort, created_at: Timestamp, finished_at: nullable(Timestamp) },
  { $id: 'EvaluationRunView', description: 'An evaluation in a list' },
);

export const EvaluationRunDetailView = closed(
  {
    ...shown,
    summary: EvaluationSummary,
    created_at: Timestamp,
    finished_at: nullable(Timestamp),
    results: Type.Optional(
      Type.Array(EvaluationResultView, {
        maxItems: 1_000,
        description: 'At most 1,000: errors, then failed, then passed; when the evaluation has ended, the attachment has all of them',
      }),
    ),
  },
  { $id: 'EvaluationRunDetailView', description: 'An evaluation with its figures and results' },
);

/** The maximum number of results in the view. */
export const maxResults = 1_000;

/** The wire form of an evaluation in a list. */
export function toEvaluationRunView(row: EvaluationRow) {
  const { items, completed, errors, pass_rate, pass_ci, cost } = row.summary as Summary; // written by `summarize` alone
  return { ...commonOf(row), summary: { items, completed, errors, pass_rate, pass_ci, cost } };
}

/** The wire form of an evaluation; without results where they are not read. */
export function toEvaluationRunDetailView(row: EvaluationRow, results: readonly ResultRow[] | null) {
  const summary = row.summary as Summary; // written by `summarize` alone
  const { metadata, ...settings } = row.settings;
  return {
    ...commonOf(row),
    summary: {
      final: row.finishedAt !== null,
      failure: row.status === 'failed' ? failureOf(row.failureCode) : null,
      ...summary,
      dataset_sha256: row.datasetSha256,
      settings: { ...settings, baseline_evaluation_run_id: row.baselineId },
      metadata,
      results_truncated: summary.results > maxResults,
      results_attachment_id: row.resultsAttachmentId,
    },
    ...(results === null ? {} : { results: results.map((result) => toResultView(result, row.evaluators)) }),
  };
}

type Summary = Omit<
  Type.Static<typeof EvaluationSummary>,
  'final' | 'failure' | 'dataset_sha256' | 'settings' | 'metadata' | 'results_truncated' | 'results_attachment_id'
>;

function commonOf(row: EvaluationRow) {
  return {
    id: row.id,
    agent_id: row.agentId,
    agent_revision_id: row.agentRevisionId,
    dataset_name: row.datasetName,
    evaluators: row.evaluators.map(({ key, type, params, threshold, weight, negate }) => ({
      key,
      type,
      params: Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)),
      threshold,
      weight,
      negate,
    })),
    status: row.status,
    created_at: iso(row.createdAt),
    finished_at: iso(row.finishedAt),
  };
}

const failures: Readonly<Record<string, string>> = {
  error_rate: 'More results are in error than max_error_rate allows.',
  budget_exceeded: 'max_cost or the budget of the workspace is spent; the remaining results were skipped.',
  agent_inactive: 'The agent was deleted or deactivated; what had not started was skipped.',
};

function failureOf(code: string | null) {
  const known = code === 'resource_frozen' ? errorCodes[code].title : failures[code ?? ''];
  return { code: code ?? 'internal_error', message: known ?? errorCodes.internal_error.title };
}
