import Type from 'typebox';
import { closed, FreeObject, idOf, nullable, text, Timestamp } from '../http/input/schema.ts';

export const ArgsHash = text(64, { minLength: 64, description: 'SHA-256 of the canonical JSON of args, hexadecimal' });

const Slug = text(120, { description: 'The tool’s name, as the model wrote it' });
const Truncated = Type.Boolean({
  description: 'args is null because the preceding arguments fill 256 KiB; the step of this tool_call_id has them',
});

/** Named by `tool_results` of POST /runs/{run_id}/input. */
export const PendingToolCall = closed(
  {
    tool_call_id: idOf('ToolCall'),
    run_id: idOf('Run', 'The run or the descendant that made the call'),
    slug: Slug,
    args: nullable(FreeObject),
    args_hash: ArgsHash,
    truncated: Truncated,
    deadline_at: Timestamp,
  },
  { $id: 'PendingToolCall', description: 'A call that its client executes: it waits for tool_results until deadline_at' },
);

export const MessageToolCall = closed(
  {
    tool_call_id: idOf('ToolCall'),
    slug: Slug,
    args: nullable(FreeObject),
    args_hash: nullable(ArgsHash),
    truncated: Truncated,
    client_owned: Type.Boolean({ description: 'A client executes it, not the platform' }),
    deadline_at: nullable(Timestamp),
  },
  { $id: 'MessageToolCall', description: 'A call that the message asks for; deadline_at is given while it waits for its client' },
);
