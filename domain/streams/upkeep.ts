import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { compactFrames } from '../../db/streams/compact-frames.ts';
import { mergeChunks } from '../../db/streams/merge-chunks.ts';
import { streamsEndedSince, recordProgress } from '../../db/streams/upkeep-progress.ts';

/** `maint:frames`: chunks saved by merging and frames dropped by compaction. `isDone` false: more is due, call again. */
export interface FrameUpkeep {
  readonly merged: number;
  readonly compacted: number;
  readonly isDone: boolean;
}

const runsPerCall = 200;
/** A run is left alone until this long after its end, while its last readers still read it. */
const mergeAfter = '1 minute';
const compactAfter = '30 days';

/**
 * Maintains the archives of ended runs: merges their chunks, and 30 days later drops frames that a later frame repeats. Proceeds by the time of their end and
 * records its progress (`system_marks`); processing a run twice changes nothing.
 */
export async function tendFrames(db: Databases): Promise<FrameUpkeep> {
  const merge = await walk(db, { mark: 'frames-merged', after: mergeAfter, work: mergeChunks });
  const compact = await walk(db, { mark: 'frames-compacted', after: compactAfter, work: compactFrames });
  return { merged: merge.sum, compacted: compact.sum, isDone: merge.isDone && compact.isDone };
}

interface Walk {
  readonly mark: string;
  readonly after: string;
  readonly work: (em: SqlEntityManager, runId: string) => Promise<number>;
}

async function walk(db: Databases, { mark, after, work }: Walk): Promise<{ sum: number; isDone: boolean }> {
  const due = await sweep(db, (em) => streamsEndedSince(em, { mark, after, limit: runsPerCall }));
  let sum = 0;
  for (const run of due) sum += await sweep(db, (em) => work(em, run.runId));

  const last = due.at(-1);
  if (last) await sweep(db, (em) => recordProgress(em, mark, last));
  return { sum, isDone: due.length < runsPerCall };
}
