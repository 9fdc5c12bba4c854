import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Records that a task of the deployment has just been done. Sweeper's pool. */
export async function setMark(em: SqlEntityManager, name: string, detail: object): Promise<void> {
  await change(
    em,
    `insert into system_marks (name, at, detail) values (?, now(), ?::jsonb)
     on conflict (name) do update set at = excluded.at, detail = excluded.detail`,
    [name, JSON.stringify(detail)],
  );
}
