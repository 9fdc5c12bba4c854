import Type from 'typebox';
import { resultStatuses } from '../../db/evaluations/evaluation-result.entity.ts';
import { scoreStates } from '../../db/evaluations/evaluation-score.entity.ts';
import { evaluatorTypes } from '../../workflows/contracts/evaluations.ts';
import { closed, Decimal, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const Rate = (description?: string) => nullable(Type.Number({ minimum: 0, maximum: 1, ...(description ? { description } : {}) }));
const Signed = nullable(Type.Number({ minimum: -1, maximum: 1 }));
const Ci = (description: string) =>
  Type.Unsafe<readonly [number, number] | null>({
    type: ['array', 'null'],
    items: { type: 'number' },
    minItems: 2,
    maxItems: 2,
    description,
  });
const ci = Ci('95 % interval; null if there is too little data');
const byName = <T>(values: object, maxProperties: number, description: string) =>
  Type.Unsafe<Record<string, T>>({ type: 'object', additionalProperties: values, maxProperties, description });

const conclusions = ['better', 'worse', 'no_difference', 'not_enough_data'] as const;
const Conclusion = oneOf(conclusions, { description: 'not_enough_data: fewer than five pairs' });

const EvaluatorNumbers = closed(
  {
    n: integer({ description: 'Items with a score' }),
    mean: Rate(),
    stdev: nullable(Type.Number({ minimum: 0 })),
    pass_rate: Rate(),
    ci: Ci('95 % interval of the mean'),
    p50: Rate(),
    errors: integer(),
    skipped: integer(),
  },
  { $id: 'EvaluatorNumbers', description: 'The results of one evaluator over all items' },
);

const TagNumbers = closed({ n: integer(), pass_rate: Rate(), pass_ci: ci }, { $id: 'TagNumbers', description: 'The items with one tag' });

const EvaluatorComparison = closed(
  {
    paired_n: integer(),
    delta: Signed,
    ci,
    p_value: Rate(),
    q_value: Rate('Adjusted by the Benjamini–Hochberg procedure'),
    conclusion: Conclusion,
  },
  { $id: 'EvaluatorComparison', description: 'How the scores of one evaluator differ' },
);

const Comparison = closed(
  {
    evaluation_run_id: idOf('Evaluation'),
    paired_n: integer({ description: 'Items that are unchanged in both evaluations' }),
    unpaired: integer({ description: 'Items that exist in only one of them' }),
    delta: nullable(Type.Number({ minimum: -1, maximum: 1, description: 'Difference of the pass rates over the pairs' })),
    ci: Ci('95 % bootstrap interval of delta'),
    wins: integer(),
    losses: integer(),
    ties: integer(),
    p_value: Type.Number({ minimum: 0, maximum: 1, description: 'Exact McNemar test over wins and losses' }),
    test: oneOf(['mcnemar_exact']),
    conclusion: Conclusion,
    evaluators: byName<Type.Static<typeof EvaluatorComparison>>(
      EvaluatorComparison,
      20,
      'By key: the evaluators that are the same in both',
    ),
  },
  { $id: 'EvaluationComparison', description: 'Against the baseline' },
);

const cost = closed(
  { total: Decimal, mean: nullable(Decimal), judges: Decimal },
  { $id: 'EvaluationCost', description: 'Runs and judges' },
);

const counted = { items: integer(), completed: integer({ description: 'Results that have ended' }), errors: integer() };
const passed = { pass_rate: Rate('Mean over items of the share of passed repetitions'), pass_ci: Ci('95 % interval of pass_rate') };

export const EvaluationSummaryShort = closed(
  { ...counted, ...passed, cost },
  { $id: 'EvaluationSummaryShort', description: 'Key figures' },
);

export const EvaluationSummary = closed(
  {
    final: Type.Boolean({ description: 'false: only includes the results that have ended so far' }),
    failure: nullable(closed({ code: text(60), message: text(500) }, { $id: 'EvaluationFailure', description: 'Why it failed' })),
    ...counted,
    results: integer({ description: 'Items times repetitions' }),
    skipped: integer(),
    ...passed,
    ci_method: nullable(oneOf(['wilson', 'cluster'])),
    score_mean: Rate(),
    flip_rate: Rate('Share of repeated items whose verdicts differ'),
    evaluators: byName<Type.Static<typeof EvaluatorNumbers>>(EvaluatorNumbers, 20, 'By key'),
    by_tag: byName<Type.Static<typeof TagNumbers>>(TagNumbers, 50, 'By tag, the most frequent first'),
    latency_ms: closed({ p50: nullable(integer()), p95: nullable(integer()) }, { $id: 'LatencyNumbers', description: 'Of the runs' }),
    cost,
    tokens: closed({ input: integer(), output: integer() }, { $id: 'EvaluationTokens', description: 'Of all runs' }),
    baseline: nullable(Comparison),
    dataset_sha256: text(64, { description: 'Hash of the keys and contents of the items in order' }),
    settings: { ...FreeObject, description: 'The request with all defaults filled in' },
    metadata: FreeObject,
    results_truncated: Type.Boolean({ description: 'Whether there are more results than the view contains' }),
    results_attachment_id: nullable(idOf('Attachment', 'All results as JSON Lines')),
  },
  { $id: 'EvaluationSummary', description: 'The figures of an evaluation' },
);

const Score = closed(
  {
    key: text(60),
    type: oneOf(evaluatorTypes),
    state: oneOf(scoreStates),
    score: Rate(),
    passed: nullable(Type.Boolean({ description: 'score ≥ threshold' })),
    reason: nullable(text(2_000)),
    error: nullable(closed({ code: text(120), message: text(2_000) }, { $id: 'EvaluatorError', description: 'Why it returned no score' })),
    details: FreeObject,
  },
  { $id: 'EvaluationScore', description: 'The result of one evaluator' },
);

export const EvaluationResultView = closed(
  {
    item_id: text(120, { description: 'The key of the item' }),
    repetition: integer({ minimum: 1 }),
    run_id: nullable(idOf('Run')),
    status: oneOf(resultStatuses),
    score: Rate('Weighted mean of the evaluators that applied'),
    scores: listOf(Score, { maxItems: 20 }),
    reason: nullable(text(2_000, { description: 'Why it failed without scores, ended in error or was skipped' })),
    output: nullable(text(4_000, { description: 'The beginning of the answer; the run has it in full' })),
    tags: listOf(text(60), { maxItems: 10 }),
    latency_ms: nullable(integer()),
    cost: nullable(Decimal),
    tokens: nullable(closed({ input: integer(), output: integer() }, { $id: 'ResultTokens', description: 'Of the run' })),
    turns: nullable(integer({ description: 'Model calls' })),
    finished_at: nullable(Timestamp),
  },
  { $id: 'EvaluationResultView', description: 'The result of one repetition of an item' },
);
