import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../databases.ts';
import { change, row, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';
import { compactFrames } from './compact-frames.ts';
import { mergeChunks } from './merge-chunks.ts';

/** `maint:frames`: chunks saved by merging and frames dropped by compaction. `isDone` false: more is due, call again. */
export interface FrameUpkeep {
  readonly merged: number;
  readonly compacted: number;
  readonly isDone: boolean;
}

const runsPerCall = 200;
/** A run is left alone until this long after its end: its last readers read it in the meantime. */
const mergeAfter = '1 minute';
const compactAfter = '30 days';

/**
 * Tends the archives of runs that have ended: merges their chunks, and 30 days later drops what a later frame repeats. Walks by the time
 * of their end and remembers how far it has come (`system_marks`); a run done twice stays as it is.
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
  const due = await sweep(db, (em) => endedSince(em, mark, after));
  let sum = 0;
  for (const run of due) sum += await sweep(db, (em) => work(em, run.run_id));

  const last = due.at(-1);
  if (last) await sweep(db, (em) => remember(em, mark, last));
  return { sum, isDone: due.length < runsPerCall };
}

interface EndedRun {
  readonly run_id: string;
  readonly updated_at: string;
}

async function endedSince(em: SqlEntityManager, mark: string, after: string): Promise<EndedRun[]> {
  const known = await row<{ at: string; run_id: string | null }>(
    em,
    `select at, detail ->> 'run_id' as run_id from system_marks where name = ?`,
    [mark],
  );
  return rows<EndedRun>(
    em,
    `select run_id, updated_at from run_streams
     where ended and updated_at < now() - ?::interval and (updated_at, run_id) > (?::timestamptz, ?::uuid) order by updated_at, run_id limit ${runsPerCall}`,
    [after, known?.at ?? '-infinity', known?.run_id ?? '00000000-0000-0000-0000-000000000000'],
  );
}

async function remember(em: SqlEntityManager, mark: string, last: EndedRun): Promise<void> {
  await change(
    em,
    `insert into system_marks (name, at, detail) values (?, ?, ?::jsonb) on conflict (name) do update set at = excluded.at, detail = excluded.detail`,
    [mark, last.updated_at, JSON.stringify({ run_id: last.run_id })],
  );
}
