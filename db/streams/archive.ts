import { sql, CompiledQuery } from 'kysely';
import type { Databases } from '../databases.ts';
import { anyId } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query, type Query } from '../query.ts';
import { seqOf } from './frame-text.ts';

// These reads cross tenants, on the sweeper's pool: only for runs whose visibility was checked when the stream was opened.

/** A page ends with the chunk that reaches this size in bytes as sent: storage compresses chunks, but readers hold them uncompressed. */
const maxPageBytes = 1024 * 1024;

/** Frames in order, as sent live. `isTruncated`: the page reached its size limit, and more of the range may follow. */
export interface FrameRange {
  readonly texts: string[];
  readonly isTruncated: boolean;
}

interface PageBounds {
  readonly runId: string;
  readonly fromSeq: number;
  readonly toSeq: number;
}

// Goes from chunk to chunk and reads none after the page's end.
const pageOfChunks = prepared(({ runId, fromSeq, toSeq }: ParametersOf<PageBounds>) =>
  query
    .withRecursive(
      'page',
      () => sql<{ firstSeq: number; frames: string; bytesBefore: number }>`(
       (select first_seq, array_to_json(frames)::text as frames, 0 as bytes_before from run_frame_chunks
        where run_id = ${runId} and first_seq <= ${toSeq}
          and first_seq >= coalesce((select max(first_seq) from run_frame_chunks where run_id = ${runId} and first_seq <= ${fromSeq}), 0)
        order by first_seq limit 1)
       union all
       select next.first_seq, next.frames, page.bytes_before + octet_length(page.frames)
       from page cross join lateral (
         select first_seq, array_to_json(frames)::text as frames from run_frame_chunks
         where run_id = ${runId} and first_seq > page.first_seq and first_seq <= ${toSeq} order by first_seq limit 1) as next
       where page.bytes_before + octet_length(page.frames) < ${sql.lit(maxPageBytes)})`,
    )
    .selectFrom('page')
    .select(['frames', sql<boolean>`bytes_before + octet_length(frames) >= ${sql.lit(maxPageBytes)}`.as('isFull')])
    .orderBy('firstSeq'),
);

/** Reads a run's frames numbered from `fromSeq` to `toSeq` in one query. After compaction numbers may be missing. */
export async function readFrameRange(db: Databases, runId: string, fromSeq: number, toSeq: number): Promise<FrameRange> {
  const chunks = await sweeperRows(db, pageOfChunks({ runId, fromSeq, toSeq }));
  const texts = chunks.flatMap((chunk) => textsOf(chunk.frames)).filter((text) => isWithin(seqOf(text)));
  return { texts, isTruncated: chunks.at(-1)?.isFull ?? false };

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

const heads = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  query.selectFrom('run_streams').select(['runId', 'headSeq', 'ended']).where('runId', '=', anyId(runIds)),
);

/** Returns the heads of runs' streams, in one query; a run that is absent was purged. */
export async function streamHeads(db: Databases, runIds: readonly string[]): Promise<Map<string, StreamHead>> {
  const found = await sweeperRows(db, heads({ runIds }));
  return new Map(found.map(({ runId, headSeq, ended: isEnded }) => [runId, { headSeq, isEnded }]));
}

/**
 * Runs one query on the sweeper's pool, across tenants, without a transaction or settings around it, so it costs one round trip. Only for the hub's shared
 * reads: heads, archive pages, the check of open streams.
 */
export async function sweeperRows<O>({ sweeper }: Pick<Databases, 'sweeper'>, query: Query<O>): Promise<O[]> {
  const { sql, parameters } = query.toStatement(sweeper.em);
  sweeper.config.get('onQuery')(sql, parameters);
  const result = await sweeper.em
    .getConnection()
    .getClient()
    .executeQuery(CompiledQuery.raw(sql, [...parameters]));
  // The rows have the shape that the query selects.
  return result.rows as O[];
}
