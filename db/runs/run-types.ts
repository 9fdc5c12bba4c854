import type { FrameData, RetryCause } from '../streams/frame.schema.ts';

export type { ContentBlock } from '../streams/frame-parts.schema.ts';

// Rows, views and frames share these shapes; the frames' schemas define them.

/** All limits of a run, capped by its revision at the start. */
export type RunLimits = FrameData<'run.started'>['limits'];

/** Why a run failed. */
export type RunError = NonNullable<FrameData<'run.finished'>['error']>;

/** Why a step or tool call failed: one of the 38 codes, or a result code of a tool. */
export type StepError = NonNullable<FrameData<'tool.result'>['error']>;

/** One failed or lost try of a step. */
export interface StepRetry {
  readonly attempt: number;
  readonly cause: RetryCause;
  readonly error_code: string | null;
  readonly at: string;
  readonly delay_ms: number;
}
