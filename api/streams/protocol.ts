import { frameTypes, streamProtocol, type FrameType } from '../../workflows/contracts/runs/frames.ts';
import { EnvelopeSchema, frameDataSchemas } from '../../db/streams/frame.schema.ts';
import { grammarText } from '../../db/streams/grammar.ts';
import { closeCodes } from './close-reasons.ts';
import { FirstFrameSchema } from './first-frame.ts';
import { defaultHubLimits } from './limits.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const descriptions: Record<FrameType, string> = {
  'run.started': 'The run has begun: its description and its limits.',
  'run.status': 'A change of the run’s state or its position in the queue, or a new attempt, which discards the messages it names.',
  'message.delta': 'A part of an answer as it is written; advisory: message.completed repeats the whole message.',
  'reasoning.delta': 'A part of the model’s reasoning; advisory.',
  'message.completed': 'A complete message from the user, the assistant or the system.',
  'tool.call':
    'A tool call: started, args_delta and progress are advisory, ready contains the complete arguments, executing contains its deadline.',
  'tool.result': 'The end of a tool call.',
  'approval.requested': 'A question to people, with everything that is needed to decide.',
  'approval.resolved': 'Its answer, expiry or withdrawal.',
  'sub_agent': 'A child run begins, waits or ends; its own frames are copied with origin_seq.',
  'usage': 'Tokens and cost of one model call, with the totals.',
  'error': 'An error after which the run continues (as an event: run.error). With seq null, a notice for this connection only.',
  'run.finished': 'The last frame of the stream.',
};

/** What GET /stream-protocol serves: the schemas that encode frames, the grammar, close codes, first message and resuming. */
export function streamProtocolView() {
  return {
    version: streamProtocol,
    heartbeat_s: defaultHubLimits.heartbeatMs / 1_000,
    envelope: { $schema: dialect, ...EnvelopeSchema, description: grammarText },
    frames: frameTypes.map((type) => ({ type, description: descriptions[type], schema: { $schema: dialect, ...frameDataSchemas[type] } })),
    close_codes: Object.entries(closeCodes).map(([name, { code, retryable, when }]) => ({ code, name, retryable, when })),
    first_frame: { $schema: dialect, ...FirstFrameSchema },
    resume: { header: 'Last-Event-ID', parameter: 'after_seq' },
  };
}
