import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, rows } from '../sql.ts';

/** Limits of a merged chunk. */
const maxFrames = 500;
const maxBytes = 256 * 1024;
const maxRows = 5_000;

interface ChunkSize {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly frames: number;
  readonly bytes: number;
}

/** Merges the chunks of an ended run into a few long ones without changing the text. Repeatable: merged chunks stay. Returns the number of chunks saved. */
export async function mergeChunks(em: SqlEntityManager, runId: string): Promise<number> {
  let saved = 0;
  for (let after = 0; ;) {
    const sizes = await rows<ChunkSize>(
      em,
      `select first_seq, last_seq, cardinality(frames) as frames, octet_length(array_to_string(frames, '')) as bytes
       from run_frame_chunks where run_id = ? and first_seq > ? order by first_seq limit ${maxRows}`,
      [runId, after],
    );
    for (const group of groupsOf(sizes)) saved += await mergeGroup(em, runId, group);
    after = sizes.at(-1)?.first_seq ?? 0;
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

async function mergeGroup(em: SqlEntityManager, runId: string, group: readonly ChunkSize[]): Promise<number> {
  const first = group[0]?.first_seq ?? 0;
  const last = group.at(-1);
  if (!last) return 0;

  await change(
    em,
    `update run_frame_chunks target set last_seq = ?, frames = whole.frames
     from (select array_agg(f.text order by c.first_seq, f.n) as frames
       from run_frame_chunks c, unnest(c.frames) with ordinality as f(text, n) where c.run_id = ? and c.first_seq between ? and ?) as whole
     where target.run_id = ? and target.first_seq = ?`,
    [last.last_seq, runId, first, last.first_seq, runId, first],
  );
  return change(em, 'delete from run_frame_chunks where run_id = ? and first_seq > ? and first_seq <= ?', [runId, first, last.first_seq]);
}
