export { Longhaul } from './client.ts';
export type { Tokens } from './credentials.ts';
export { ApiError, ConnectionError, isCode, type ErrorCode } from './errors.ts';
export type { Calls } from './generated/calls.ts';
export { contractVersion } from './generated/table.ts';
export type * from './generated/types.ts';
export type { OperationId } from './operation.ts';
export type { CallOptions, DeprecationNotice, LonghaulOptions, Pages } from './options.ts';
export { etagOf, replyOf, type ReplyFacts } from './reply.ts';
export { RunStream, type StreamOptions } from './run-stream.ts';
export type { Decision, Handlers, ToolContext, ToolFunction } from './run-work.ts';
export { Run, RunFailed, type FrameOptions } from './run.ts';
export type { Upload } from './upload.ts';
export { verifyWebhook, WebhookVerificationError } from './webhooks.ts';
export {
  applyFrame,
  emptyRunState,
  type CallState,
  type DraftBlock,
  type MessageState,
  type QuestionState,
  type RunPart,
  type RunState,
} from './run-state.ts';
