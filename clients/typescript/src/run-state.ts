import type {
  ApprovalRequestedData,
  ApprovalResolvedData,
  Frame,
  MessageCompletedData,
  ErrorData,
  RunFinishedData,
  RunStartedData,
  RunStatusData,
  SubAgentData,
  ToolCallData,
  ToolResultData,
  UsageData,
} from './generated/types.ts';

/** A block of a message while it is written. */
export interface DraftBlock {
  readonly kind: 'text' | 'refusal' | 'json' | 'reasoning';
  readonly index: number;
  readonly text: string;
}

/** A message: first in pieces, then whole. */
export interface MessageState {
  readonly id: string;
  readonly step: number | null;
  /** What has been written so far, by kind and index. Reasoning stays; the rest gives way to `completed`. */
  readonly blocks: readonly DraftBlock[];
  readonly completed: MessageCompletedData | null;
}

export interface CallState {
  readonly id: string;
  readonly messageId: string;
  readonly slug: string;
  readonly phase: ToolCallData['phase'];
  /** Arguments as JSON while they are written. */
  readonly argsText: string;
  /** Whole and validated; null before `ready`. */
  readonly args: ToolCallData['args'] | null;
  readonly deadlineAt: string | null;
  readonly progress: ToolCallData['progress'] | null;
  readonly isClientOwned: boolean;
  readonly result: ToolResultData | null;
}

export interface QuestionState {
  readonly id: string;
  readonly requested: ApprovalRequestedData;
  readonly resolved: ApprovalResolvedData | null;
}

/** One run of the tree that a stream shows. */
export interface RunPart {
  readonly runId: string;
  readonly parentRunId: string | null;
  readonly path: readonly string[];
  readonly started: RunStartedData | null;
  /** The last change of state; null before the first. */
  readonly status: RunStatusData['status'] | RunFinishedData['status'] | null;
  readonly change: RunStatusData | null;
  readonly messages: readonly MessageState[];
  readonly calls: readonly CallState[];
  readonly questions: readonly QuestionState[];
  /** The last word about each child that this run called. */
  readonly children: readonly SubAgentData[];
  /** The last one holds the totals. */
  readonly usage: UsageData | null;
  readonly errors: readonly ErrorData[];
  readonly finished: RunFinishedData | null;
}

/** What a run's frames add up to. */
export interface RunState {
  /** Number of the last frame applied; 0 before the first. */
  readonly seq: number;
  readonly runs: Readonly<Record<string, RunPart>>;
}

export const emptyRunState: RunState = { seq: 0, runs: {} };

/**
 * The state after one more frame. Pure: `state` stays as it is, and parts that the frame does not concern are the same objects. Frames already applied, notices and
 * unknown types change nothing.
 */
export function applyFrame(state: RunState, frame: Frame): RunState {
  if (frame.seq === null || frame.seq <= state.seq) return state;
  const part = state.runs[frame.run_id] ?? emptyPart(frame);
  return { seq: frame.seq, runs: { ...state.runs, [frame.run_id]: partAfter(part, frame) } };
}

function emptyPart({ run_id: runId, parent_run_id: parentRunId, path }: Frame): RunPart {
  const lists = { messages: [], calls: [], questions: [], children: [], errors: [] };
  return { runId, parentRunId, path, started: null, status: null, change: null, usage: null, finished: null, ...lists };
}

function partAfter(part: RunPart, frame: Frame): RunPart {
  switch (frame.type) {
    case 'run.started':
      return { ...part, started: frame.data, status: 'running' };
    case 'run.status':
      return afterStatus(part, frame.data);
    case 'message.delta':
      return afterPiece(part, { ...frame.data, kind: frame.data.block });
    case 'reasoning.delta':
      return afterPiece(part, { ...frame.data, kind: 'reasoning' });
    case 'message.completed':
      return afterMessage(part, frame.data);
    case 'tool.call':
      return afterCall(part, frame.data);
    case 'tool.result': {
      const { data } = frame;
      return { ...part, calls: changed(part.calls, data.tool_call_id, (call) => ({ ...call, result: data })) };
    }
    case 'approval.requested':
      return { ...part, questions: [...part.questions, { id: frame.data.approval_id, requested: frame.data, resolved: null }] };
    case 'approval.resolved': {
      const { data } = frame;
      return { ...part, questions: changed(part.questions, data.approval_id, (question) => ({ ...question, resolved: data })) };
    }
    case 'sub_agent':
      return { ...part, children: [...part.children.filter(({ child_run_id: id }) => id !== frame.data.child_run_id), frame.data] };
    case 'usage':
      return { ...part, usage: frame.data };
    case 'error':
      return { ...part, errors: [...part.errors, frame.data] };
    case 'run.finished':
      return { ...part, status: frame.data.status, finished: frame.data };
    default:
      // A later release may send types that this client does not know.
      return part;
  }
}

/** A new attempt discards the messages that the lost one left open, and their calls. */
function afterStatus(part: RunPart, data: RunStatusData): RunPart {
  const discarded = new Set<string>(data.discarded_message_ids);
  const next: RunPart = { ...part, status: data.status, change: data };
  if (discarded.size === 0) return next;
  const messages = part.messages.filter(({ id }) => !discarded.has(id));
  return { ...next, messages, calls: part.calls.filter(({ messageId }) => !discarded.has(messageId)) };
}

interface Piece {
  readonly message_id: string;
  readonly step: number;
  readonly index: number;
  readonly offset: number;
  readonly delta: string;
  readonly kind: DraftBlock['kind'];
}

function afterPiece(part: RunPart, piece: Piece): RunPart {
  const { message_id: id, step } = piece;
  const messages =
    part.messages.at(-1)?.id === id || part.messages.some((message) => message.id === id)
      ? part.messages
      : [...part.messages, { id, step, blocks: [], completed: null }];
  return { ...part, messages: changed(messages, id, (message) => ({ ...message, blocks: blocksAfter(message.blocks, piece) })) };
}

function blocksAfter(blocks: readonly DraftBlock[], { kind, index, offset, delta }: Piece): readonly DraftBlock[] {
  const at = blocks.findIndex((block) => block.kind === kind && block.index === index);
  const old = blocks[at];
  if (!old) return [...blocks, { kind, index, text: delta }];
  return blocks.with(at, { ...old, text: old.text.length === offset ? old.text + delta : old.text.slice(0, offset) + delta });
}

function afterMessage(part: RunPart, data: MessageCompletedData): RunPart {
  const { message_id: id, step } = data;
  if (!part.messages.some((message) => message.id === id))
    return { ...part, messages: [...part.messages, { id, step, blocks: [], completed: data }] };
  const complete = (message: MessageState): MessageState => ({
    ...message,
    blocks: message.blocks.filter(({ kind }) => kind === 'reasoning'),
    completed: data,
  });
  return { ...part, messages: changed(part.messages, id, complete) };
}

function afterCall(part: RunPart, data: ToolCallData): RunPart {
  const { tool_call_id: id, message_id: messageId, slug, phase } = data;
  const known = part.calls.some((call) => call.id === id);
  const fresh: CallState = {
    id,
    messageId,
    slug,
    phase,
    argsText: '',
    args: null,
    deadlineAt: null,
    progress: null,
    isClientOwned: data.client_owned,
    result: null,
  };
  const calls = known ? part.calls : [...part.calls, fresh];
  return {
    ...part,
    calls: changed(calls, id, (call) => ({
      ...call,
      phase,
      argsText: call.argsText + (data.args_delta ?? ''),
      args: data.args ?? call.args,
      deadlineAt: data.deadline_at ?? call.deadlineAt,
      progress: data.progress ?? call.progress,
    })),
  };
}

/** The list with one element changed: usually the last, so it is looked for from the end. */
function changed<T extends { readonly id: string }>(list: readonly T[], id: string, change: (element: T) => T): readonly T[] {
  const at = list.findLastIndex((element) => element.id === id);
  const found = list[at];
  return found ? list.with(at, change(found)) : list;
}
