import type { Databases } from '../databases.ts';
import { seqOf } from './frame-text.ts';
import { sweeperRows } from './sweeper-rows.ts';

// These reads cross tenants, on the sweeper's pool: only for runs whose visibility was checked when the stream was opened.

/** A page ends with the chunk that reaches this size in bytes as sent: storage compresses chunks, but readers hold them uncompressed. */
const maxPageBytes = 1024 * 1024;

/** Frames in order, as sent live. `isTruncated`: the page reached its size limit, and more of the range may follow. */
export interface FrameRange {
  readonly texts: string[];
  readonly isTruncated: boolean;
}

/**
 * Reads a run's frames numbered from `fromSeq` to `toSeq` in one query, which goes from chunk to chunk and reads none after the page's end. After
 * compaction numbers may be missing.
 */
export async function readFrameRange(db: Databases, runId: string, fromSeq: number, toSeq: number): Promise<FrameRange> {
  const chunks = await sweeperRows<{ frames: string; is_full: boolean }>(
    db,
    `with recursive page as (
       (select first_seq, array_to_json(frames)::text as frames, 0 as bytes_before from run_frame_chunks
        where run_id = $1 and first_seq <= $3
          and first_seq >= coalesce((select max(first_seq) from run_frame_chunks where run_id = $1 and first_seq <= $2), 0)
        order by first_seq limit 1)
       union all
       select next.first_seq, next.frames, page.bytes_before + octet_length(page.frames)
       from page cross join lateral (
         select first_seq, array_to_json(frames)::text as frames from run_frame_chunks
         where run_id = $1 and first_seq > page.first_seq and first_seq <= $3 order by first_seq limit 1) as next
       where page.bytes_before + octet_length(page.frames) < ${maxPageBytes})
     select frames, bytes_before + octet_length(frames) >= ${maxPageBytes} as is_full from page order by first_seq`,
    [runId, fromSeq, toSeq],
  );
  const texts = chunks.flatMap((chunk) => textsOf(chunk.frames)).filter((text) => isWithin(seqOf(text)));
  return { texts, isTruncated: chunks.at(-1)?.is_full ?? false };

  function isWithin(seq: number): boolean {
    return seq >= fromSeq && seq <= toSeq;
  }
}

/** Parses `array_to_json` of an array of texts. */
function textsOf(json: string): string[] {
  return JSON.parse(json);
}

export interface StreamHead {
  readonly headSeq: number;
  readonly isEnded: boolean;
}

/** Returns the heads of runs' streams, in one query; a run that is absent was purged. */
export async function streamHeads(db: Databases, runIds: readonly string[]): Promise<Map<string, StreamHead>> {
  const heads = await sweeperRows<{ run_id: string; head_seq: number; ended: boolean }>(
    db,
    'select run_id, head_seq, ended from run_streams where run_id = any ($1::uuid[])',
    [runIds],
  );
  return new Map(heads.map((row) => [row.run_id, { headSeq: row.head_seq, isEnded: row.ended }]));
}
