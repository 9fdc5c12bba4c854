import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import { numberedFrames } from './open-messages.ts';

/** Limits of a merged chunk. */
const maxFrames = 500;
const maxBytes = 256 * 1024;
const maxRows = 5_000;

type ChunkSize = Awaited<ReturnType<typeof sizesAfter>>[number];

const nextSizes = prepared(({ runId, after }: ParametersOf<{ readonly runId: string; readonly after: number }>) =>
  query
    .selectFrom('run_frame_chunks')
    .select(({ ref }) => [
      'firstSeq',
      'lastSeq',
      sql<number>`cardinality(${ref('frames')})`.as('frames'),
      sql<number>`octet_length(array_to_string(${ref('frames')}, ''))`.as('bytes'),
    ])
    .where('runId', '=', runId)
    .where('firstSeq', '>', after)
    .orderBy('firstSeq')
    .limit(sql.lit(maxRows)),
);

function sizesAfter(em: SqlEntityManager, runId: string, after: number) {
  return rows(em, nextSizes({ runId, after }));
}

/** Merges the chunks of an ended run into a few long ones without changing the text. Repeatable: merged chunks stay. Returns the number of chunks saved. */
export async function mergeChunks(em: SqlEntityManager, runId: string): Promise<number> {
  let saved = 0;
  for (let after = 0; ;) {
    const sizes = await sizesAfter(em, runId, after);
    for (const group of groupsOf(sizes)) saved += await mergeGroup(em, runId, group);
    after = sizes.at(-1)?.firstSeq ?? 0;
    if (sizes.length < maxRows) return saved;
  }
}

/** Groups neighbouring chunks that fit into one, each group as long as the limits allow. */
function groupsOf(sizes: readonly ChunkSize[]): ChunkSize[][] {
  const groups: ChunkSize[][] = [];
  let frames = 0;
  let bytes = 0;
  for (const size of sizes) {
    frames += size.frames;
    bytes += size.bytes;
    const last = groups.at(-1);
    if (last && frames <= maxFrames && bytes <= maxBytes) last.push(size);
    else {
      groups.push([size]);
      frames = size.frames;
      bytes = size.bytes;
    }
  }
  return groups.filter((group) => group.length > 1);
}

/** The chunks from `first` to `last`, by their first numbers. */
interface Merged {
  readonly runId: string;
  readonly first: number;
  readonly last: number;
}

const mergedChunk = prepared(({ runId, first, last, lastSeq }: ParametersOf<Merged & { readonly lastSeq: number }>) =>
  query
    .updateTable('run_frame_chunks')
    .from(({ selectFrom }) =>
      selectFrom(['run_frame_chunks as c', numberedFrames])
        .select(sql<string[]>`array_agg(f.text order by c.first_seq, f.n)`.as('frames'))
        .where('c.runId', '=', runId)
        .where(({ between }) => between('c.firstSeq', first, last))
        .as('whole'),
    )
    .set(({ ref }) => ({ lastSeq, frames: ref('whole.frames') }))
    .where('run_frame_chunks.runId', '=', runId)
    .where('run_frame_chunks.firstSeq', '=', first),
);

const mergedAway = prepared(({ runId, first, last }: ParametersOf<Merged>) =>
  query.deleteFrom('run_frame_chunks').where('runId', '=', runId).where('firstSeq', '>', first).where('firstSeq', '<=', last),
);

async function mergeGroup(em: SqlEntityManager, runId: string, group: readonly ChunkSize[]): Promise<number> {
  const first = group[0];
  const last = group.at(-1);
  if (!first || !last) return 0;

  const merged = { runId, first: first.firstSeq, last: last.firstSeq };
  await change(em, mergedChunk({ ...merged, lastSeq: last.lastSeq }));
  return change(em, mergedAway(merged));
}
