import type { Databases } from '../orm.ts';
import { seqOf } from './frame-text.ts';
import { sweeperRows } from './sweeper-rows.ts';

// Reads across tenants, on the sweeper's pool: only for runs whose visibility was checked when the stream was opened.

/** Most that one page reads, as stored (compressed); a chunk that alone is longer still comes whole. */
const limitPageBytes = 4 * 1024 * 1024;

/** Frames in order, as sent live; `isCut`: the page grew too long and more of the range follows. */
export interface FrameRange {
  readonly texts: string[];
  readonly isCut: boolean;
}

/** Frames of a run with numbers from `fromSeq` to `toSeq`: one query. After compaction numbers may be missing. */
export async function readFrameRange(db: Databases, runId: string, fromSeq: number, toSeq: number): Promise<FrameRange> {
  const chunks = await sweeperRows<{ frames: string[] | null }>(
    db,
    `select case when bytes_before < ${limitPageBytes} then array_to_json(frames) end as frames from (
       select first_seq, frames, sum(pg_column_size(frames)) over (order by first_seq) - pg_column_size(frames) as bytes_before
       from run_frame_chunks
       where run_id = $1 and first_seq <= $3
         and first_seq >= coalesce((select max(first_seq) from run_frame_chunks where run_id = $1 and first_seq <= $2), 0)) as page
     order by first_seq`,
    [runId, fromSeq, toSeq],
  );
  const texts = chunks
    .flatMap((chunk) => chunk.frames ?? [])
    .filter((text) => {
      const seq = seqOf(text);
      return seq >= fromSeq && seq <= toSeq;
    });
  return { texts, isCut: chunks.some((chunk) => chunk.frames === null) };
}

export interface StreamHead {
  readonly headSeq: number;
  readonly isEnded: boolean;
}

/** Heads of runs, one query; a run that is absent was purged. */
export async function streamHeads(db: Databases, runIds: readonly string[]): Promise<Map<string, StreamHead>> {
  const heads = await sweeperRows<{ run_id: string; head_seq: number; ended: boolean }>(
    db,
    'select run_id, head_seq, ended from run_streams where run_id = any ($1::uuid[])',
    [runIds],
  );
  return new Map(heads.map((row) => [row.run_id, { headSeq: row.head_seq, isEnded: row.ended }]));
}
