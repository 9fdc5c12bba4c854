import type { FrameData } from '../../db/streams/frame.schema.ts';
import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from '../http/reply/error-envelope.ts';

/** The run that a connection watches, as far as its notices name it. */
export interface NoticeRun {
  readonly runId: string;
  readonly rootRunId: string;
  readonly parentRunId: string | null;
  readonly path: readonly string[];
}

/** The request of the stream, as the problems in its notices name it. */
export interface StreamAnswer {
  readonly publicUrl: string;
  readonly correlationId: string;
}

export interface NoticeOptions {
  /** The last seq that this connection got; null before it got any. */
  readonly resumeAfterSeq: number | null;
  readonly answer: StreamAnswer;
}

/** Returns an `error` frame for one connection only: it has no seq and is not stored, and the run continues. */
export function noticeText(run: NoticeRun, failure: Failure, { resumeAfterSeq, answer }: NoticeOptions): string {
  const data: FrameData<'error'> = {
    code: failure.code,
    message: failure.detail.slice(0, 1_000),
    retryable: failure.retryable,
    fatal: false,
    source: 'stream',
    detail_ref: null,
    ...(resumeAfterSeq === null ? {} : { resume_after_seq: resumeAfterSeq }),
    problem: { ...toEnvelope(failure, answer) },
  };
  return JSON.stringify({
    v: streamProtocol,
    seq: null,
    type: 'error',
    ts: new Date().toISOString(),
    run_id: run.runId,
    root_run_id: run.rootRunId,
    parent_run_id: run.parentRunId,
    path: run.path,
    attempt: 1,
    data,
  });
}
