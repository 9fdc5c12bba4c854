import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import { isAdvisory, parseFrame } from './frame-text.ts';
import { numberedFrames } from './open-messages.ts';

const maxRows = 200;

type Chunk = Awaited<ReturnType<typeof chunksAfter>>[number];

/**
 * Drops the advisory frames of an ended run and all but the last usage frame of each step; the remaining frames keep their numbers. Repeatable. Returns the
 * number of dropped frames.
 */
export async function compactFrames(em: SqlEntityManager, runId: string): Promise<number> {
  const lastUsage = await lastUsageOf(em, runId);
  let dropped = 0;
  for (let after = 0; ;) {
    const chunks = await chunksAfter(em, runId, after);
    for (const chunk of chunks) dropped += await compactChunk(em, runId, chunk, lastUsage);
    after = chunks.at(-1)?.firstSeq ?? 0;
    if (chunks.length < maxRows) return dropped;
  }
}

async function compactChunk(em: SqlEntityManager, runId: string, chunk: Chunk, lastUsage: ReadonlySet<string>): Promise<number> {
  const kept = chunk.frames.filter((text) => isRetained(text, lastUsage));
  const dropped = chunk.frames.length - kept.length;
  if (dropped === 0) return 0;

  const place = { runId, firstSeq: chunk.firstSeq };
  await change(em, kept.length === 0 ? emptyChunk(place) : keptFrames({ ...place, frames: kept }));
  return dropped;
}

interface ChunkPlace {
  readonly runId: string;
  readonly firstSeq: number;
}

const emptyChunk = prepared(({ runId, firstSeq }: ParametersOf<ChunkPlace>) =>
  query.deleteFrom('run_frame_chunks').where('runId', '=', runId).where('firstSeq', '=', firstSeq),
);

const keptFrames = prepared(({ runId, firstSeq, frames }: ParametersOf<ChunkPlace & { readonly frames: readonly string[] }>) =>
  query
    .updateTable('run_frame_chunks')
    .set({ frames: sql<string[]>`${frames}::text[]` })
    .where('runId', '=', runId)
    .where('firstSeq', '=', firstSeq),
);

function isRetained(text: string, lastUsage: ReadonlySet<string>): boolean {
  const frame = parseFrame(text);
  return frame.type === 'usage' ? lastUsage.has(text) : !isAdvisory(frame);
}

const usageFrames = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom(['run_frame_chunks as c', numberedFrames])
    .select('f.text')
    .where('c.runId', '=', runId)
    .where(sql<boolean>`position('"type":"usage"' in left(f.text, 120)) > 0`)
    .orderBy('c.firstSeq')
    .orderBy('f.n'),
);

async function lastUsageOf(em: SqlEntityManager, runId: string): Promise<Set<string>> {
  const byStep = new Map<string, string>();
  for (const { text } of await rows(em, usageFrames({ runId }))) {
    const frame = parseFrame(text);
    if (frame.type === 'usage') byStep.set(`${frame.run_id} ${frame.data.step}`, text);
  }
  return new Set(byStep.values());
}

const nextChunks = prepared(({ runId, after }: ParametersOf<{ readonly runId: string; readonly after: number }>) =>
  query
    .selectFrom('run_frame_chunks')
    .select(({ ref }) => ['firstSeq', sql<string[]>`array_to_json(${ref('frames')})`.as('frames')])
    .where('runId', '=', runId)
    .where('firstSeq', '>', after)
    .orderBy('firstSeq')
    .limit(sql.lit(maxRows)),
);

function chunksAfter(em: SqlEntityManager, runId: string, after: number) {
  return rows(em, nextChunks({ runId, after }));
}
