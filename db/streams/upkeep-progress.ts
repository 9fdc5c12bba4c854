import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row, rows } from '../sql.ts';

/** A run whose stream has ended, and when. */
export interface EndedRun {
  readonly run_id: string;
  readonly updated_at: string;
}

/** Returns runs whose stream ended longer ago than the interval `after`, ordered by the time of their end, starting after the run that the mark names. */
export async function streamsEndedSince(
  em: SqlEntityManager,
  { mark, after, limit }: { readonly mark: string; readonly after: string; readonly limit: number },
): Promise<EndedRun[]> {
  const known = await row<{ at: string; run_id: string | null }>(
    em,
    `select at, detail ->> 'run_id' as run_id from system_marks where name = ?`,
    [mark],
  );
  return rows<EndedRun>(
    em,
    `select run_id, updated_at from run_streams
     where ended and updated_at < now() - ?::interval and (updated_at, run_id) > (?::timestamptz, ?::uuid) order by updated_at, run_id limit ?`,
    [after, known?.at ?? '-infinity', known?.run_id ?? '00000000-0000-0000-0000-000000000000', limit],
  );
}

/** Records how far a walk has progressed. */
export async function recordProgress(em: SqlEntityManager, mark: string, last: EndedRun): Promise<void> {
  await change(
    em,
    `insert into system_marks (name, at, detail) values (?, ?, ?::jsonb) on conflict (name) do update set at = excluded.at, detail = excluded.detail`,
    [mark, last.updated_at, JSON.stringify({ run_id: last.run_id })],
  );
}
