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
          'Goes on from this message in a conversation of its own: a user’s is asked again or replaced by input, any other is kept and answered by input',
        ),
      ),
    ),
    input: Type.Optional(nullable(RunInput)),
    session_key,
    limits: Type.Optional(RunLimitsInput),
    on_busy,
  },
  { $id: 'RunRetry', description: 'May be empty; input and session_key only with fork_at_message_id' },
);
