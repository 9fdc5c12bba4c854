import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, rows } from '../sql.ts';
import { isAdvisory, parseFrame } from './frame-text.ts';

const maxRows = 200;

interface Chunk {
  readonly first_seq: number;
  readonly frames: string[];
}

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
    after = chunks.at(-1)?.first_seq ?? 0;
    if (chunks.length < maxRows) return dropped;
  }
}

async function compactChunk(em: SqlEntityManager, runId: string, chunk: Chunk, lastUsage: ReadonlySet<string>): Promise<number> {
  const kept = chunk.frames.filter((text) => isKept(text, lastUsage));
  const dropped = chunk.frames.length - kept.length;
  if (dropped === 0) return 0;

  if (kept.length === 0) await change(em, 'delete from run_frame_chunks where run_id = ? and first_seq = ?', [runId, chunk.first_seq]);
  else await change(em, 'update run_frame_chunks set frames = ? where run_id = ? and first_seq = ?', [kept, runId, chunk.first_seq]);
  return dropped;
}

function isKept(text: string, lastUsage: ReadonlySet<string>): boolean {
  const frame = parseFrame(text);
  return frame.type === 'usage' ? lastUsage.has(text) : !isAdvisory(frame);
}

async function lastUsageOf(em: SqlEntityManager, runId: string): Promise<Set<string>> {
  const usage = await rows<{ text: string }>(
    em,
    `select f.text from run_frame_chunks, unnest(frames) with ordinality as f(text, n)
     where run_id = ? and position('"type":"usage"' in left(f.text, 120)) > 0 order by first_seq, n`,
    [runId],
  );
  const byStep = new Map<string, string>();
  for (const { text } of usage) {
    const frame = parseFrame(text);
    if (frame.type === 'usage') byStep.set(`${frame.run_id} ${frame.data.step}`, text);
  }
  return new Set(byStep.values());
}

function chunksAfter(em: SqlEntityManager, runId: string, after: number): Promise<Chunk[]> {
  return rows<Chunk>(
    em,
    `select first_seq, array_to_json(frames) as frames from run_frame_chunks where run_id = ? and first_seq > ? order by first_seq limit ${maxRows}`,
    [runId, after],
  );
}
