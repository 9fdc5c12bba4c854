import { frameTypes, streamProtocol, type FrameType } from '../../workflows/contracts/runs/frames.ts';
import { EnvelopeSchema, frameDataSchemas } from '../../db/streams/frame.schema.ts';
import { grammarText } from '../../db/streams/grammar.ts';
import { closeCodes } from './close-reasons.ts';
import { FirstFrameSchema } from './first-frame.ts';
import { defaultHubLimits } from './limits.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const descriptions: Record<FrameType, string> = {
  'run.started': 'The run has begun: what it is and by which limits.',
  'run.status': 'A change of the run’s state, its place in the line, or a new attempt, which discards the messages it names.',
  'message.delta': 'A piece of an answer as it is written; advisory, message.completed repeats the whole.',
  'reasoning.delta': 'A piece of the model’s reasoning; advisory.',
  'message.completed': 'A whole message of user, assistant or system.',
  'tool.call': 'A tool call: started, args_delta and progress are advisory, ready has the whole arguments, executing its deadline.',
  'tool.result': 'The end of a tool call.',
  'approval.requested': 'A question to people; it alone suffices to decide.',
  'approval.resolved': 'Its answer, expiry or withdrawal.',
  'sub_agent': 'A child run begins, waits or ends; its own frames are copied with origin_seq.',
  'usage': 'Tokens and cost of one model call, with totals.',
  'error': 'A fault the run goes on after (as an event: run.error). With seq null a notice for this connection alone.',
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
