import Type, { type TProperties } from 'typebox';
import { evaluatorTypes, type EvaluatorType } from '../../workflows/contracts/evaluations.ts';
import { closed, FreeObject, integer, listOf, oneOf, partOf, text } from '../http/input/schema.ts';

const Flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const Values = Type.Optional(
  listOf(text(1_000, { minLength: 1 }), {
    minItems: 1,
    maxItems: 50,
    description: 'What is looked for; without them what the item expects',
  }),
);
const ModelName = Type.Optional(text(200, { minLength: 1, description: 'A model of the deployment; without one its default' }));
const Rubric = text(8_000, { minLength: 1, description: 'What is good and what is not, for the judge' });
const Pointer = text(500, { pattern: '^(?:/.*)?$', description: 'JSON pointer' });
const Max = Type.Number({ minimum: 0, description: 'Passes up to this' });

const contains = params({ values: Values, case_sensitive: Flag('false unless set') }, 'Whether texts stand in the output');
const bound = (description: string) => params({ max: Max }, description);

/** Parameters by type: closed, so that a misspelt one is told. */
const paramsOf: Readonly<Record<EvaluatorType, ReturnType<typeof params>>> = {
  exact_match: params(
    {
      trim: Flag('Spaces around both texts do not count; true unless set'),
      case_sensitive: Flag('true unless set'),
      unicode: Type.Optional(oneOf(['nfc', 'none'], { description: 'nfc unless set: texts that look the same are the same' })),
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
    'A pattern is found in the output',
  ),
  json_schema: params({ schema: FreeObject }, 'The output is JSON as it stands and fits a schema (draft 2020-12, no remote references)'),
  json_diff: params(
    {
      ignore: Type.Optional(listOf(Pointer, { maxItems: 50, description: 'What lies there does not count' })),
      tolerance: Type.Optional(Type.Number({ minimum: 0, description: 'By which numbers may differ; 0 unless set' })),
    },
    'The share of equal leaves of the JSON that is expected and the output together',
  ),
  levenshtein: params({}, 'How alike the texts are, letter by letter'),
  numeric_diff: params({ pointer: Type.Optional(Pointer) }, 'How near the numbers are'),
  embedding_similarity: params({ model: ModelName }, 'How alike the texts are in meaning'),
  llm_judge: params(
    {
      rubric: Rubric,
      model: ModelName,
      scale: Type.Optional(
        closed({
          min: integer({ minimum: 0, maximum: 99, description: '1 unless set' }),
          max: integer({ minimum: 1, maximum: 100, description: '5 unless set' }),
        }),
      ),
      votes: Type.Optional(
        Type.Unsafe<1 | 3 | 5>({
          type: 'integer',
          enum: [1, 3, 5],
          minimum: 1,
          maximum: 5,
          description: 'The median counts; 1 unless set',
        }),
      ),
      include: Type.Optional(
        listOf(oneOf(['input', 'expected', 'context', 'trajectory']), {
          maxItems: 4,
          uniqueItems: true,
          description: 'What the judge reads beside the output; input and expected unless set',
        }),
      ),
    },
    'A model judges by a rubric',
  ),
  pairwise: params({ rubric: Rubric, model: ModelName }, 'A model prefers this output or that of the baseline; it is asked in both orders'),
  tool_trajectory: params(
    {
      mode: Type.Optional(oneOf(['exact', 'in_order', 'any_order', 'subset'], { description: 'in_order unless set' })),
      arguments: Type.Optional(oneOf(['exact', 'subset', 'ignore'], { description: 'subset unless set' })),
      max_calls: Type.Optional(integer({ maximum: 10_000, description: 'More calls: 0' })),
      forbidden: Type.Optional(listOf(text(120, { minLength: 1 }), { maxItems: 50, description: 'Tools whose call makes it 0' })),
    },
    'The calls that were made are those that are expected',
  ),
  citations: params(
    { min_count: Type.Optional(integer({ maximum: 1_000, description: '1 unless set' })) },
    'The share of cited items that the run’s own searches had found',
  ),
  latency: bound('Milliseconds of the run'),
  cost: bound('Cost of the run'),
  tokens: bound('Tokens of the run, in and out'),
  turns: bound('Model calls of the run'),
};

const EvaluatorFields = closed({
  key: text(60, { minLength: 1, pattern: '^[a-z0-9_-]+$', description: 'Names it among the evaluators' }),
  type: oneOf(evaluatorTypes, { description: 'What it looks at' }),
  params: Type.Optional({ ...FreeObject, description: 'By its type' }),
  threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'A score from here on passes; by type unless set' })),
  weight: Type.Optional(Type.Number({ minimum: 0, maximum: 100, description: 'In the score of a result; 1 unless set' })),
  negate: Type.Optional(Type.Boolean({ description: 'The score becomes 1 − score; false unless set' })),
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
  description: 'One measure of each answer',
  allOf: evaluatorTypes.map((type) => ({
    if: partOf({ type: { const: type } }, { required: ['type'] }),
    // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
    then: partOf({ params: paramsOf[type] }, typesThatNeedParams.includes(type) ? { required: ['params'] } : {}),
  })),
});

function params(properties: TProperties, description: string) {
  return closed(properties, { description });
}
