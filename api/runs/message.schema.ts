import Type from 'typebox';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp, Url } from '../http/input/schema.ts';
import { AttachmentRef } from './run.schema.ts';
import { MessageToolCall } from './tool-call.schema.ts';

const BlockText = text(4 * 1024 * 1024);

/** Text, refusal, summary, JSON, citation or attachment; told apart by `type`. */
const ContentBlock = Type.Unsafe<ContentBlockView>({
  $id: 'ContentBlock',
  description: 'One part of a message',
  discriminator: { propertyName: 'type' },
  oneOf: [
    closed(
      { type: oneOf(['text', 'reasoning_summary', 'refusal']), text: BlockText },
      { $id: 'TextBlock', description: 'Text from a person or the model' },
    ),
    closed(
      { type: oneOf(['json']), value: Type.Unsafe<unknown>({ description: 'Any JSON value' }) },
      { $id: 'JsonBlock', description: 'Structured input or output' },
    ),
    closed(
      { type: oneOf(['citation']), item_id: nullable(idOf('Other')), title: text(1_000), quote: text(10_000), url: nullable(Url) },
      { $id: 'CitationBlock', description: 'Where a statement comes from' },
    ),
    closed({ type: oneOf(['attachment']), ...AttachmentRef.properties }, { $id: 'AttachmentBlock', description: 'A file' }),
  ],
});

export type ContentBlockView = { readonly type: string } & Readonly<Record<string, unknown>>;

export const MessageView = closed(
  {
    id: idOf('Message'),
    run_id: idOf('Run'),
    turn: integer({ description: 'Turn of the conversation; 0 while the run is queued' }),
    pos: integer({ description: 'Place within the run' }),
    step: nullable(integer()),
    role: oneOf(['user', 'assistant', 'tool', 'system']),
    origin: oneOf(['user', 'model', 'system', 'injected']),
    content: listOf(ContentBlock, { maxItems: 1_000 }),
    tool_call_ids: listOf(idOf('ToolCall'), { maxItems: 1_000 }),
    tool_calls: listOf(MessageToolCall, { maxItems: 1_000, description: 'The calls of tool_call_ids, in the order of the model' }),
    tool_call_id: nullable(idOf('ToolCall')),
    model: nullable(text(200)),
    stop_reason: nullable(oneOf(['stop', 'tool_calls', 'max_output', 'refused', 'cancelled', 'error'])),
    state: oneOf(['pending', 'committed', 'discarded']),
    created_at: Timestamp,
  },
  { $id: 'MessageView', description: 'One complete message of a conversation' },
);

export const MessageFilters = closed({
  scope: Type.Optional(
    oneOf(['run', 'conversation'], { default: 'run', description: 'conversation: all messages up to and including this run' }),
  ),
  include_discarded: Type.Optional(Type.Boolean({ default: false })),
  message_id: Type.Optional(idOf('Message')),
  tool_call_id: Type.Optional(idOf('ToolCall', 'The message that answers this call')),
});
