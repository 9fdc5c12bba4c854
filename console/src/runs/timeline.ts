import type { Frame, Views } from './frames.ts';

type Content = Views['MessageCompletedData']['content'];

/** What a person sees of a run, in the order in which it began. */
export type Entry = MessageEntry | CallEntry | QuestionEntry | ChildEntry | NoteEntry;

interface Placed {
  readonly key: string;
  /** The run that speaks: the watched one, or one below it. */
  readonly runId: string;
  readonly at: string;
}

export interface MessageEntry extends Placed {
  readonly kind: 'message';
  readonly role: string;
  /** Text per block while the message is being written. */
  readonly parts: Readonly<Record<string, string>>;
  /** The whole message, once it is there. */
  readonly content: Content | null;
  readonly reasoning: string;
  readonly model: string | null;
  readonly isDiscarded: boolean;
}

export interface CallEntry extends Placed {
  readonly kind: 'call';
  readonly slug: string;
  readonly effect: string;
  readonly isCritical: boolean;
  readonly isClientOwned: boolean;
  readonly phase: string;
  readonly argsText: string;
  readonly args: Readonly<Record<string, unknown>> | null;
  readonly progress: { readonly pct: number | null; readonly text: string | null } | null;
  readonly result: Views['ToolResultData'] | null;
}

export interface QuestionEntry extends Placed {
  readonly kind: 'question';
  readonly request: Views['ApprovalRequestedData'];
  readonly answer: Views['ApprovalResolvedData'] | null;
}

export interface ChildEntry extends Placed {
  readonly kind: 'child';
  readonly childRunId: string;
  readonly status: string;
  readonly summary: string | null;
}

export interface NoteEntry extends Placed {
  readonly kind: 'note';
  readonly tone: 'plain' | 'bad';
  readonly text: string;
}

export interface Timeline {
  readonly lastSeq: number;
  readonly status: string | null;
  readonly waitingOn: string | null;
  readonly waitingUntil: string | null;
  readonly usage: Views['UsageTotals'] | null;
  readonly isFinished: boolean;
  readonly entries: readonly Entry[];
}

export const emptyTimeline: Timeline = {
  lastSeq: 0,
  status: null,
  waitingOn: null,
  waitingUntil: null,
  usage: null,
  isFinished: false,
  entries: [],
};

/** The timeline after these frames. Frames come in order; those that it has already are passed over. */
export function withFrames(before: Timeline, frames: readonly Frame[]): Timeline {
  const draft = new Draft(before);
  for (const frame of frames) draft.take(frame);
  return draft.finished();
}

/** One copy for a whole batch: the page is drawn once for all of it. */
class Draft {
  readonly #entries: Entry[];
  readonly #places: Map<string, number>;
  #top: Omit<Timeline, 'entries'>;

  constructor({ entries, ...top }: Timeline) {
    this.#entries = [...entries];
    this.#places = new Map(entries.map(({ key }, index) => [key, index]));
    this.#top = top;
  }

  finished(): Timeline {
    return { ...this.#top, entries: this.#entries };
  }

  take(frame: Frame): void {
    if (frame.seq === null || frame.seq <= this.#top.lastSeq) return;
    this.#top = { ...this.#top, lastSeq: frame.seq };
    const isOwn = frame.run_id === frame.root_run_id || frame.origin_seq === undefined;
    const placed = { runId: frame.run_id, at: frame.ts };
    switch (frame.type) {
      case 'run.started':
        if (isOwn) this.#set({ status: 'running', waitingOn: null, waitingUntil: null });
        return;
      case 'run.status': {
        const { status, waiting_on, waiting_until, discarded_message_ids, retry, attempt } = frame.data;
        if (isOwn) this.#set({ status, waitingOn: waiting_on, waitingUntil: waiting_until });
        for (const id of discarded_message_ids)
          this.#change(`m:${id}`, (entry) => (entry.kind === 'message' ? { ...entry, isDiscarded: true } : entry));
        if (retry !== null)
          this.#put({
            ...placed,
            kind: 'note',
            key: `s:${frame.seq}`,
            tone: 'plain',
            text: `${retry.cause.replaceAll('_', ' ')}, attempt ${attempt}`,
          });
        return;
      }
      case 'message.delta':
      case 'reasoning.delta':
        return this.#delta(frame);
      case 'message.completed': {
        const { message_id, role, content, model } = frame.data;
        const key = `m:${message_id}`;
        const found = this.#find(key);
        const reasoning = found?.kind === 'message' ? found.reasoning : '';
        return this.#put({ ...placed, kind: 'message', key, role, parts: {}, content, reasoning, model, isDiscarded: false });
      }
      case 'tool.call':
        return this.#call(frame);
      case 'tool.result':
        return this.#change(`c:${frame.data.tool_call_id}`, (entry) =>
          entry.kind === 'call' ? { ...entry, result: frame.data, progress: null } : entry,
        );
      case 'approval.requested':
        return this.#put({ ...placed, kind: 'question', key: `q:${frame.data.approval_id}`, request: frame.data, answer: null });
      case 'approval.resolved':
        return this.#change(`q:${frame.data.approval_id}`, (entry) =>
          entry.kind === 'question' ? { ...entry, answer: frame.data } : entry,
        );
      case 'sub_agent': {
        const { child_run_id, status, summary } = frame.data;
        return this.#put({ ...placed, kind: 'child', key: `r:${child_run_id}`, childRunId: child_run_id, status, summary });
      }
      case 'usage':
        if (isOwn) this.#set({ usage: frame.data.subtree_total });
        return;
      case 'error':
        return this.#put({ ...placed, kind: 'note', key: `s:${frame.seq}`, tone: 'bad', text: frame.data.message });
      case 'run.finished': {
        if (!isOwn) return;
        const { status, error } = frame.data;
        this.#set({ status, waitingOn: null, waitingUntil: null, isFinished: true });
        if (error !== null) this.#put({ ...placed, kind: 'note', key: `s:${frame.seq}`, tone: 'bad', text: error.message });
      }
    }
  }

  #delta(frame: Extract<Frame, { type: 'message.delta' | 'reasoning.delta' }>): void {
    const { message_id, delta, index } = frame.data;
    const key = `m:${message_id}`;
    const found = this.#find(key);
    const entry: MessageEntry =
      found?.kind === 'message'
        ? found
        : {
            kind: 'message',
            key,
            runId: frame.run_id,
            at: frame.ts,
            role: 'assistant',
            parts: {},
            content: null,
            reasoning: '',
            model: null,
            isDiscarded: false,
          };
    if (entry.content !== null) return;
    if (frame.type === 'reasoning.delta') return this.#put({ ...entry, reasoning: entry.reasoning + delta });
    this.#put({ ...entry, parts: { ...entry.parts, [index]: (entry.parts[index] ?? '') + delta } });
  }

  #call(frame: Extract<Frame, { type: 'tool.call' }>): void {
    const { tool_call_id, slug, effect, critical, client_owned, phase, args, args_delta, progress } = frame.data;
    const key = `c:${tool_call_id}`;
    const found = this.#find(key);
    const entry: CallEntry =
      found?.kind === 'call'
        ? found
        : {
            kind: 'call',
            key,
            runId: frame.run_id,
            at: frame.ts,
            slug,
            effect,
            isCritical: critical,
            isClientOwned: client_owned,
            phase,
            argsText: '',
            args: null,
            progress: null,
            result: null,
          };
    this.#put({
      ...entry,
      phase,
      argsText: entry.argsText + (args_delta ?? ''),
      args: args ?? entry.args,
      progress: progress ?? entry.progress,
    });
  }

  #set(top: Partial<Omit<Timeline, 'entries' | 'lastSeq'>>): void {
    this.#top = { ...this.#top, ...top };
  }

  #find(key: string): Entry | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#entries[place];
  }

  #put(entry: Entry): void {
    const place = this.#places.get(entry.key);
    if (place !== undefined) {
      this.#entries[place] = entry;
      return;
    }
    this.#places.set(entry.key, this.#entries.push(entry) - 1);
  }

  #change(key: string, how: (entry: Entry) => Entry): void {
    const found = this.#find(key);
    if (found !== undefined) this.#put(how(found));
  }
}
