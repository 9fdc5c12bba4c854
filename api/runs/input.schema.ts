import Type from 'typebox';
import { atLeastOneOf, closed, idOf, listOf, nullable, oneOf, stating, text } from '../http/input/schema.ts';
import { RunInput } from './run.schema.ts';

const AnyJson = (description: string) => Type.Unsafe<unknown>({ description });

const MessageInput = stating(
  closed(
    {
      kind: oneOf(['message']),
      ...RunInput.properties,
      deny_pending: Type.Optional(Type.Boolean({ default: false, description: 'Rejects pending approvals first' })),
    },
    { $id: 'RunMessageInput', description: 'Read before the next model call; text or json is required' },
  ),
  atLeastOneOf('text', 'json'),
);

const AnswerInput = closed(
  {
    kind: oneOf(['answer']),
    approval_id: idOf('Approval', 'A question that asks for input'),
    response: AnyJson('Must match the response_schema of the question'),
  },
  { $id: 'RunAnswerInput', description: 'An answer to a question of the agent' },
);

const ToolResultInput = closed(
  {
    tool_call_id: idOf('ToolCall', 'A call of the run or of a descendant that the client executes'),
    status: oneOf(['succeeded', 'failed']),
    output: Type.Optional(AnyJson('The result of the tool, at most 1 MiB of JSON')),
    message: Type.Optional(nullable(text(2_000, { description: 'Why the call failed, for the model' }))),
  },
  { $id: 'ToolResultInput' },
);

const ToolResultsInput = closed(
  { kind: oneOf(['tool_results']), results: listOf(ToolResultInput, { minItems: 1, maxItems: 50 }) },
  { $id: 'RunToolResultsInput', description: 'Results of calls that the client executes; either all are accepted, or none' },
);

export type RunInputAdd = Type.Static<typeof MessageInput> | Type.Static<typeof AnswerInput> | Type.Static<typeof ToolResultsInput>;

/** One of the forms, told apart by `kind`. */
export const RunInputAdd = Type.Unsafe<RunInputAdd>({
  $id: 'RunInputAdd',
  type: 'object',
  description: 'Input for a run after its start',
  discriminator: { propertyName: 'kind' },
  oneOf: [MessageInput, AnswerInput, ToolResultsInput],
});
