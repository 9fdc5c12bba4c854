/** The 13 frame types of stream protocol 2, in the order of the protocol's table. */
export const frameTypes = [
  'run.started',
  'run.status',
  'message.delta',
  'reasoning.delta',
  'message.completed',
  'tool.call',
  'tool.result',
  'approval.requested',
  'approval.resolved',
  'sub_agent',
  'usage',
  'error',
  'run.finished',
] as const;
export type FrameType = (typeof frameTypes)[number];

export const streamProtocol = 2;
