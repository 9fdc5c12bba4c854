import type { Calls } from './generated/calls.ts';
import type { RunCancel, RunView } from './generated/types.ts';
import type { CallOptions } from './options.ts';
import type { RunStream, StreamOptions } from './run-stream.ts';

export interface FrameOptions extends StreamOptions {
  /** A stored `cursor`: the loop begins with the frame behind it. */
  readonly after?: number;
  /** No backlog: only frames from now on. */
  readonly liveOnly?: boolean;
}

/** The run ended otherwise than by a finished answer. */
export class RunFailed extends Error {
  override readonly name = 'RunFailed';
  readonly run: RunView;

  constructor(run: RunView) {
    super(`run ${run.id} ${run.status}: ${run.finish_reason ?? 'unknown'}${run.error ? ` (${run.error.code}: ${run.error.message})` : ''}`);
    this.run = run;
  }
}

const ends = new Set<string>(['succeeded', 'failed', 'cancelled']);
const waitSeconds = 30;

type Api = Pick<Calls, 'getRun' | 'waitForRun' | 'cancelRun' | 'streamRun'>;

/** A run by its id. It lives in the deployment: leaving a loop, or this process, cancels nothing. */
export class Run {
  readonly id: string;
  readonly #api: Api;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.id = id;
  }

  /** Its frames, each once and in order, until it has ended. */
  frames({ after, liveOnly, ...options }: FrameOptions = {}): RunStream {
    return this.#api.streamRun({ run_id: this.id, after_seq: after, replay: liveOnly !== true }, options);
  }

  /** The pieces of its answers as they are written. Pieces of an attempt that was lost are not taken back: `applyFrame` knows which those are. */
  async *text(options: FrameOptions = {}): AsyncGenerator<string, void> {
    for await (const frame of this.frames(options)) {
      if (frame.type === 'message.delta' && frame.run_id === this.id && frame.data.block === 'text') yield frame.data.delta;
    }
  }

  /** The run as it is once it has ended or waits for somebody. */
  async wait(options: CallOptions = {}): Promise<RunView> {
    for (;;) {
      const run = await this.#api.waitForRun({ run_id: this.id, timeout_s: waitSeconds }, options);
      if (run.status === 'waiting' || ends.has(run.status)) return run;
    }
  }

  /** The run when it has ended, however long that takes; throws RunFailed unless it finished its answer. With functions for tools and questions it acts meanwhile. */
  async result(options: StreamOptions = {}): Promise<RunView> {
    for await (const _ of this.frames({ ...options, liveOnly: true }));
    const { signal, headers } = options;
    const run = await this.#api.getRun({ run_id: this.id }, { signal, headers });
    if (run.finish_reason !== 'stop') throw new RunFailed(run);
    return run;
  }

  /** Asks for its end; `wait` sees it. */
  cancel(body: RunCancel = {}, options: CallOptions = {}): Promise<RunView> {
    return this.#api.cancelRun({ ...body, run_id: this.id }, options);
  }
}
