import Type from 'typebox';
import { closed, idOf, nullable, oneOf } from '../http/input/schema.ts';
import { RunCreate, RunInput, RunLimitsInput } from './run.schema.ts';

const { session_key, on_busy } = RunCreate.properties;

export const RunRetry = closed(
  {
    revision: Type.Optional(
      oneOf(['pinned', 'current'], {
        default: 'pinned',
        description: 'pinned: the revision that the run used; current: the agent’s active one',
      }),
    ),
    fork_at_message_id: Type.Optional(
      nullable(
        idOf(
          'Message',
          'Continues from this message in a separate conversation: a user’s message is asked again or replaced by input, any other message is kept and followed by input',
        ),
      ),
    ),
    input: Type.Optional(nullable(RunInput)),
    session_key,
    limits: Type.Optional(RunLimitsInput),
    on_busy,
  },
  { $id: 'RunRetry', description: 'Can be empty; input and session_key are only allowed with fork_at_message_id' },
);
