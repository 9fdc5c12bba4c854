import Type, { type TProperties } from 'typebox';
import { evaluatorTypes, type EvaluatorType } from '../../workflows/contracts/evaluations.ts';
import { closed, FreeObject, integer, listOf, oneOf, partOf, text } from '../http/input/schema.ts';

const Flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const Values = Type.Optional(
  listOf(text(1_000, { minLength: 1 }), {
    minItems: 1,
    maxItems: 50,
    description: 'The texts to look for; defaults to what the item expects',
  }),
);
const ModelName = Type.Optional(text(200, { minLength: 1, description: 'A model of the deployment; defaults to its default model' }));
const Rubric = text(8_000, { minLength: 1, description: 'What counts as good or bad, for the judge' });
const Pointer = text(500, { pattern: '^(?:/.*)?$', description: 'JSON pointer' });
const Max = Type.Number({ minimum: 0, description: 'Passes up to this value' });

const contains = params({ values: Values, case_sensitive: Flag('Defaults to false') }, 'Checks whether texts occur in the output');
const bound = (description: string) => params({ max: Max }, description);

/** Parameters by type: closed, so that a misspelt one is reported. */
const paramsOf: Readonly<Record<EvaluatorType, ReturnType<typeof params>>> = {
  exact_match: params(
    {
      trim: Flag('Ignores whitespace around both texts; defaults to true'),
      case_sensitive: Flag('Defaults to true'),
      unicode: Type.Optional(oneOf(['nfc', 'none'], { description: 'Defaults to nfc: texts that look the same are equal' })),
    },
    'The output equals what is expected; JSON is compared by value',
  ),
  contains,
  contains_any: contains,
  contains_all: contains,
  not_contains: contains,
  regex: params(
    {
      pattern: text(1_000, { minLength: 1, description: 'Works in linear time (RE2): no look-around, no back-references' }),
      flags: Type.Optional(text(3, { pattern: '^(?!.*(.).*\\1)[ims]*$', description: 'Of i, m and s' })),
    },
    'Checks whether a pattern matches the output',
  ),
  json_schema: params(
    { schema: FreeObject },
    'Checks whether the whole output is JSON that matches a schema (draft 2020-12, no remote references)',
  ),
  json_diff: params(
    {
      ignore: Type.Optional(listOf(Pointer, { maxItems: 50, description: 'Values at these pointers are ignored' })),
      tolerance: Type.Optional(Type.Number({ minimum: 0, description: 'Tolerance for numbers; defaults to 0' })),
    },
    'The share of equal leaves among all leaves of the expected JSON and the output',
  ),
  levenshtein: params({}, 'Similarity of the texts by characters'),
  numeric_diff: params({ pointer: Type.Optional(Pointer) }, 'Closeness of the numbers'),
  embedding_similarity: params({ model: ModelName }, 'Similarity of the texts in meaning'),
  llm_judge: params(
    {
      rubric: Rubric,
      model: ModelName,
      scale: Type.Optional(
        closed({
          min: integer({ minimum: 0, maximum: 99, description: 'Defaults to 1' }),
          max: integer({ minimum: 1, maximum: 100, description: 'Defaults to 5' }),
        }),
      ),
      votes: Type.Optional(
        Type.Unsafe<1 | 3 | 5>({
          type: 'integer',
          enum: [1, 3, 5],
          minimum: 1,
          maximum: 5,
          description: 'Number of judgements, of which the median counts; defaults to 1',
        }),
      ),
      include: Type.Optional(
        listOf(oneOf(['input', 'expected', 'context', 'trajectory']), {
          maxItems: 4,
          uniqueItems: true,
          description: 'What the judge reads besides the output; defaults to input and expected',
        }),
      ),
    },
    'A model scores the output by a rubric',
  ),
  pairwise: params(
    { rubric: Rubric, model: ModelName },
    'A model chooses between this output and that of the baseline; it is asked in both orders',
  ),
  tool_trajectory: params(
    {
      mode: Type.Optional(oneOf(['exact', 'in_order', 'any_order', 'subset'], { description: 'Defaults to in_order' })),
      arguments: Type.Optional(oneOf(['exact', 'subset', 'ignore'], { description: 'Defaults to subset' })),
      max_calls: Type.Optional(integer({ maximum: 10_000, description: 'More calls score 0' })),
      forbidden: Type.Optional(listOf(text(120, { minLength: 1 }), { maxItems: 50, description: 'Tools whose call scores 0' })),
    },
    'Checks whether the calls match the expected ones',
  ),
  citations: params(
    { min_count: Type.Optional(integer({ maximum: 1_000, description: 'Defaults to 1' })) },
    'The share of cited items that the run’s own searches found',
  ),
  latency: bound('Duration of the run in milliseconds'),
  cost: bound('Cost of the run'),
  tokens: bound('Input and output tokens of the run'),
  turns: bound('Number of model calls of the run'),
};

const EvaluatorFields = closed({
  key: text(60, { minLength: 1, pattern: '^[a-z0-9_-]+$', description: 'Key of the evaluator, unique in the evaluation' }),
  type: oneOf(evaluatorTypes, { description: 'What it evaluates' }),
  params: Type.Optional({ ...FreeObject, description: 'Options, depending on the type' }),
  threshold: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'The lowest score that passes; the default depends on the type' }),
  ),
  weight: Type.Optional(Type.Number({ minimum: 0, maximum: 100, description: 'Weight in the score of a result; defaults to 1' })),
  negate: Type.Optional(Type.Boolean({ description: 'Whether the score is inverted to 1 − score; defaults to false' })),
});

const typesThatNeedParams: readonly EvaluatorType[] = [
  'regex',
  'json_schema',
  'llm_judge',
  'pairwise',
  'latency',
  'cost',
  'tokens',
  'turns',
];

export const Evaluator = Type.Unsafe<Type.Static<typeof EvaluatorFields>>({
  ...EvaluatorFields,
  $id: 'Evaluator',
  description: 'A measure that is applied to each answer',
  allOf: evaluatorTypes.map((type) => ({
    if: partOf({ type: { const: type } }, { required: ['type'] }),
    // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
    then: partOf({ params: paramsOf[type] }, typesThatNeedParams.includes(type) ? { required: ['params'] } : {}),
  })),
});

function params(properties: TProperties, description: string) {
  return closed(properties, { description });
}
