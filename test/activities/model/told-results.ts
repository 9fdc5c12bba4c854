import type { ContentBlock } from '../../../db/streams/frame-parts.schema.ts';

/** How a call ended, as its rows hold it, and what the model is given for it. */
export interface ToldResult {
  /** State of the call's row. */
  readonly state: string;
  readonly source: string;
  readonly content: readonly ContentBlock[];
  readonly error: { readonly code: string; readonly message: string } | null;
  /** A text goes as it is, anything else as JSON. */
  readonly reads: unknown;
}

const text = (words: string): ContentBlock[] => [{ type: 'text', text: words }];
const denied = (source: string, words: string): ToldResult => ({
  state: 'denied',
  source,
  content: text(words),
  error: null,
  reads: { status: 'denied', output: words },
});
const failed = (state: string, source: string, [code, message]: readonly [string, string]): ToldResult => ({
  state,
  source,
  content: text(message),
  error: { code, message },
  reads: { status: state === 'unknown' ? 'failed' : state, error: { code, message } },
});

/** Every end of a call: state × source → what the model reads. */
export const toldResults: readonly ToldResult[] = [
  {
    state: 'succeeded',
    source: 'the tool, approved or not asked about',
    content: [{ type: 'json', value: { done: 1 } }],
    error: null,
    reads: { done: 1 },
  },
  {
    state: 'succeeded',
    source: 'the tool, with arguments that a person edited',
    content: [{ type: 'json', value: { done: 2 } }],
    error: null,
    reads: { done: 2 },
  },
  { state: 'succeeded', source: 'a person who responded', content: text('Done by hand.'), error: null, reads: 'Done by hand.' },
  { state: 'succeeded', source: 'an answer to ask_user', content: text('blue'), error: null, reads: 'blue' },
  { state: 'succeeded', source: 'the client', content: text('by the client'), error: null, reads: 'by the client' },
  denied('a person who rejected, with a comment', 'A person rejected this call. Not on a Friday.'),
  denied('a person who rejected', 'A person rejected this call.'),
  denied('a person who rejected ask_user', 'A person rejected this call. Ask Ann.'),
  denied('unasked, like a call that was rejected', 'A call of this tool with the same arguments was rejected before; it was not made.'),
  denied('nobody, until the question expired', 'Nobody answered whether this call may be made, and it was not made.'),
  {
    state: 'failed',
    source: 'the client, with an output and a message',
    content: [{ type: 'json', value: { door: 'locked' } }, ...text('The door is locked.')],
    error: { code: 'upstream_status', message: 'The door is locked.' },
    reads: { status: 'failed', error: { code: 'upstream_status', message: 'The door is locked.' }, output: { door: 'locked' } },
  },
  failed('failed', 'the client, with a message', ['upstream_status', 'No hands free.']),
  failed('failed', 'the tool', ['upstream_unreachable', 'the server cannot be reached']),
  failed('failed', 'the arguments', ['invalid_arguments', 'The arguments do not fit the tool: /n must be integer']),
  failed('failed', 'a call that names no tool', ['invalid_arguments', 'The call names no tool. Call again, with the name of a tool.']),
  failed('failed', 'a tool that there is not', ['tool_unavailable', 'There is no tool of this name.']),
  failed('failed', 'a policy (egress, effect, quarantine)', ['effect_not_allowed', 'this run may only read']),
  failed('timed_out', 'the tool or the client, silent', ['timed_out', 'no result within 1 s']),
  failed('unknown', 'a worker that was lost in a write', ['outcome_unknown', 'The call may have happened.']),
  { state: 'cancelled', source: 'the end of its run', content: text(''), error: null, reads: { status: 'cancelled' } },
];
