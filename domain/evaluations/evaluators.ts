import { invalid } from '../../workflows/contracts/failure.ts';
import type { EvaluatorType, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';

/** A requested evaluator; its parameters fit its type. */
export interface EvaluatorDraft {
  readonly key: string;
  readonly type: EvaluatorType;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly threshold?: number;
  readonly weight?: number;
  readonly negate?: boolean;
}

const thresholds: Readonly<Partial<Record<EvaluatorType, number>>> = {
  levenshtein: 0.8,
  numeric_diff: 0.95,
  llm_judge: 0.7,
  pairwise: 0.5,
};

const containing = { values: null, case_sensitive: false };
const defaults: Readonly<Partial<Record<EvaluatorType, Readonly<Record<string, unknown>>>>> = {
  exact_match: { trim: true, case_sensitive: true, unicode: 'nfc' },
  contains: containing,
  contains_any: containing,
  contains_all: containing,
  not_contains: containing,
  regex: { flags: '' },
  json_diff: { ignore: [], tolerance: 0 },
  numeric_diff: { pointer: null },
  embedding_similarity: { model: null },
  llm_judge: { model: null, scale: { min: 1, max: 5 }, votes: 1, include: ['input', 'expected'] },
  pairwise: { model: null },
  tool_trajectory: { mode: 'in_order', arguments: 'subset', max_calls: null, forbidden: [] },
  citations: { min_count: 1 },
};

/** What the items and the evaluation provide for evaluators. */
export interface EvaluatorGround {
  readonly hasExpected: boolean;
  readonly hasToolsExpected: boolean;
  readonly hasBaseline: boolean;
}

/**
 * Fills in the defaults of evaluators. Throws 422 for a repeated key, an invalid scale, an embedding without a threshold, and an evaluator whose needs no item
 * can meet.
 */
export function completeEvaluators(drafts: readonly EvaluatorDraft[], ground: EvaluatorGround): StoredEvaluator[] {
  const keys = new Set<string>();
  return drafts.map((draft, at) => {
    const pointer = `/evaluators/${at}`;
    if (keys.has(draft.key)) throw invalid(`${pointer}/key`, 'unique', 'another evaluator already has this key');
    keys.add(draft.key);
    const evaluator = completed(draft);
    refuseShape(draft, evaluator, pointer);
    refuseVain(evaluator, ground, pointer);
    return evaluator;
  });
}

function completed({ key, type, params = {}, threshold, weight, negate }: EvaluatorDraft): StoredEvaluator {
  const given = type === 'llm_judge' ? { ...params, scale: { ...scaleOf(defaults.llm_judge), ...scaleOf(params) } } : params;
  return {
    key,
    type,
    params: { ...defaults[type], ...given },
    threshold: threshold ?? thresholds[type] ?? 1,
    weight: weight ?? 1,
    negate: negate ?? false,
  };
}

function scaleOf(params: Readonly<Record<string, unknown>> | undefined): { readonly min?: number; readonly max?: number } {
  const scale = params?.['scale'];
  return typeof scale === 'object' && scale !== null ? scale : {};
}

function refuseShape({ threshold }: EvaluatorDraft, { type, params }: StoredEvaluator, pointer: string): void {
  if (type === 'embedding_similarity' && threshold === undefined)
    throw invalid(`${pointer}/threshold`, 'required', 'is required: similarity thresholds differ between models');
  const { min = 0, max = 1 } = scaleOf(params);
  if (type === 'llm_judge' && min >= max) throw invalid(`${pointer}/params/scale`, 'range', 'must begin below its end');
}

const expecting: readonly EvaluatorType[] = ['exact_match', 'json_diff', 'levenshtein', 'numeric_diff', 'embedding_similarity'];
const containingTypes: readonly EvaluatorType[] = ['contains', 'contains_any', 'contains_all', 'not_contains'];

function refuseVain({ type, params }: StoredEvaluator, ground: EvaluatorGround, pointer: string): void {
  const needsExpected = expecting.includes(type) || (containingTypes.includes(type) && params['values'] === null);
  if (needsExpected && !ground.hasExpected) throw invalid(pointer, 'unmet', 'requires items with expected');
  const forbidden = params['forbidden'];
  const bounds = params['max_calls'] !== null || (Array.isArray(forbidden) && forbidden.length > 0);
  if (type === 'tool_trajectory' && !bounds && !ground.hasToolsExpected)
    throw invalid(pointer, 'unmet', 'requires items with tools_expected');
  if (type === 'pairwise' && !ground.hasBaseline) throw invalid(pointer, 'unmet', 'requires a baseline');
}
