import { isTerminal, type RunStatus } from '../../workflows/contracts/runs/runs.ts';
import type { Frame, FrameData } from './frame.schema.ts';

type Report = (rule: string) => void;

interface MessageState {
  readonly offsets: Map<number, number>;
  state: 'open' | 'completed' | 'discarded';
}

interface CallState {
  readonly messageId: string | null;
  state: 'started' | 'ready' | 'executing' | 'ended';
}

/** The changes that a status frame may report; a change to the same status reports a queue position, a retry or a reason. */
const changes: Record<RunStatus, readonly RunStatus[]> = {
  queued: ['queued'],
  running: ['running', 'waiting', 'cancelling'],
  waiting: ['waiting', 'running', 'cancelling'],
  cancelling: ['cancelling'],
  succeeded: [],
  failed: [],
  cancelled: [],
};

/** The final statuses that a run may reach from a status: only a run that is cancelling or has never started ends as cancelled. */
const ends: Record<RunStatus, readonly RunStatus[]> = {
  queued: ['cancelled', 'failed'],
  running: ['succeeded', 'failed'],
  waiting: ['failed'],
  cancelling: ['succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
};

/** The rules per run_id. Not whole: a copy or a compacted stream, which lacks advisory frames. */
export class RunGrammar {
  readonly #isWhole: boolean;
  readonly #messages = new Map<string, MessageState>();
  readonly #calls = new Map<string, CallState>();
  readonly #approvals = new Map<string, 'requested' | 'resolved'>();
  readonly #children = new Map<string, 'open' | 'finished'>();
  #status: RunStatus | null = null;
  #isStarted = false;
  #identity: string | null = null;

  constructor(options: { readonly isWhole: boolean }) {
    this.#isWhole = options.isWhole;
  }

  take(frame: Frame, report: Report): void {
    const identity = JSON.stringify([frame.root_run_id, frame.parent_run_id, frame.path]);
    if (this.#identity !== null && this.#identity !== identity) report('root, parent and path of a run are constant');
    this.#identity = identity;

    if (this.#status === null && frame.type !== 'run.status') report('the first frame is run.status queued');
    if (this.#status !== null && isTerminal(this.#status)) report('nothing follows run.finished');
    const isBody = frame.type !== 'run.status' && frame.type !== 'run.started' && frame.type !== 'run.finished';
    if (isBody && !this.#isStarted) report(`${frame.type} before run.started`);
    this.#dispatch(frame, report);
  }

  #dispatch(frame: Frame, report: Report): void {
    switch (frame.type) {
      case 'run.started':
        return this.#started(report);
      case 'run.status':
        return this.#statusChange(frame.data, report);
      case 'run.finished':
        return this.#finished(frame.data, frame.origin_seq ?? frame.seq, report);
      case 'message.delta':
      case 'reasoning.delta':
        return this.#delta(frame.data, report);
      case 'message.completed':
        return this.#completed(frame.data, report);
      case 'tool.call':
        return this.#call(frame.data, report);
      case 'tool.result':
        return this.#result(frame.data, report);
      case 'approval.requested':
        return this.#approvalRequested(frame.data, report);
      case 'approval.resolved':
        return this.#approvalResolved(frame.data, report);
      case 'sub_agent':
        return this.#child(frame.data, report);
      case 'usage':
      case 'error':
        return undefined;
      default:
        return frame satisfies never;
    }
  }

  #started(report: Report): void {
    if (this.#status !== 'queued' || this.#isStarted) report('run.started is the change from queued to running, once');
    this.#isStarted = true;
    this.#status = 'running';
  }

  #statusChange(data: FrameData<'run.status'>, report: Report): void {
    if (this.#status === null) {
      if (data.status !== 'queued' || data.previous !== null) report('the first frame is run.status queued');
    } else {
      if (data.previous !== this.#status) report(`previous is ${data.previous}, the run was ${this.#status}`);
      if (!changes[this.#status].includes(data.status)) report(`no change from ${this.#status} to ${data.status}`);
      if (data.status === this.#status && data.status === 'running' && data.retry === null) report('a change of status changes it');
    }
    if ((data.status === 'waiting') !== (data.waiting_on !== null && data.waiting_until !== null))
      report('waiting_on and waiting_until stand in waiting alone');
    this.#status = data.status;

    for (const id of data.discarded_message_ids) {
      const message = this.#messages.get(id);
      if (this.#isWhole && message?.state !== 'open') report('only an open message is discarded');
      this.#messages.set(id, { offsets: new Map(), state: 'discarded' });
    }
  }

  #finished(data: FrameData<'run.finished'>, ownSeq: number | null, report: Report): void {
    if (this.#status !== null && !ends[this.#status].includes(data.status)) report(`no end ${data.status} from ${this.#status}`);
    if ((data.finish_reason === 'stop') !== (data.status === 'succeeded')) report('only stop succeeds');
    if (data.last_seq !== ownSeq) report('last_seq is its own number');
    this.#status = data.status;

    for (const message of this.#messages.values()) if (message.state === 'open') report('a message was left open');
    for (const call of this.#calls.values())
      if (call.state === 'ready' || call.state === 'executing') report('a call was left without result');
    for (const approval of this.#approvals.values()) if (approval === 'requested') report('an approval was left unresolved');
    for (const child of this.#children.values()) if (child === 'open') report('a sub-agent was left unfinished');
  }

  #delta(data: FrameData<'message.delta'> | FrameData<'reasoning.delta'>, report: Report): void {
    const message = this.#messages.get(data.message_id) ?? { offsets: new Map<number, number>(), state: 'open' as const };
    this.#messages.set(data.message_id, message);
    if (message.state !== 'open') return report(`delta of a message that is ${message.state}`);

    const expected = message.offsets.get(data.index) ?? 0;
    if (data.offset !== expected) report(`offset ${data.offset} instead of ${expected}`);
    message.offsets.set(data.index, data.offset + data.delta.length);
    if (data.delta.length === 0 || !data.delta.isWellFormed()) report('a delta is never empty or half a surrogate pair');
  }

  #completed(data: FrameData<'message.completed'>, report: Report): void {
    const message = this.#messages.get(data.message_id);
    if (message && message.state !== 'open') report(`message.completed of a message that is ${message.state}`);
    this.#messages.set(data.message_id, { offsets: new Map(), state: 'completed' });
  }

  #call(data: FrameData<'tool.call'>, report: Report): void {
    const call = this.#calls.get(data.tool_call_id);
    const state = call?.state ?? null;
    const next = { messageId: data.message_id };

    switch (data.phase) {
      case 'started':
        if (state !== null) report('call.started comes once, first');
        this.#calls.set(data.tool_call_id, { ...next, state: 'started' });
        return;
      case 'args_delta':
        if (state !== 'started') report('args_delta follows call.started');
        return;
      case 'ready':
        if (state !== null && state !== 'started') report('call.ready comes once');
        if (this.#messages.get(data.message_id)?.state !== 'completed') report('call.ready follows message.completed of its message');
        this.#calls.set(data.tool_call_id, { ...next, state: 'ready' });
        return;
      case 'executing':
        if (state !== 'ready' && state !== 'executing') report('call.executing follows call.ready');
        this.#calls.set(data.tool_call_id, { ...next, state: 'executing' });
        return;
      case 'progress':
        if (state !== 'executing') report('progress follows call.executing');
        return;
      default:
        return data.phase satisfies never;
    }
  }

  #result(data: FrameData<'tool.result'>, report: Report): void {
    const call = this.#calls.get(data.tool_call_id);
    if (call?.state !== 'ready' && call?.state !== 'executing') report('a result follows call.ready, once');
    this.#calls.set(data.tool_call_id, { messageId: call?.messageId ?? null, state: 'ended' });
  }

  #approvalRequested(data: FrameData<'approval.requested'>, report: Report): void {
    if (this.#approvals.has(data.approval_id)) report('an approval is requested once');
    const call = data.tool_call_id === null ? null : this.#calls.get(data.tool_call_id);
    if (call !== null && call?.state !== 'ready' && call?.state !== 'executing') report('an approval of a call follows call.ready');
    this.#approvals.set(data.approval_id, 'requested');
  }

  #approvalResolved(data: FrameData<'approval.resolved'>, report: Report): void {
    if (this.#approvals.get(data.approval_id) !== 'requested') report('an approval is resolved once, after its request');
    this.#approvals.set(data.approval_id, 'resolved');
  }

  #child(data: FrameData<'sub_agent'>, report: Report): void {
    const state = this.#children.get(data.child_run_id) ?? null;
    if (data.phase === 'started' ? state !== null : state !== 'open') report(`sub_agent ${data.phase} out of order`);
    this.#children.set(data.child_run_id, data.phase === 'finished' ? 'finished' : 'open');
  }
}
