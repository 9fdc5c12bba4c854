import { sql } from 'kysely';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { query } from '../query.ts';
import { change } from '../sql.ts';

/** Records that a task of the deployment has just been done. Sweeper's pool. */
export async function setMark(em: SqlEntityManager, name: string, detail: object): Promise<void> {
  await change(
    em,
    query
      .insertInto('system_marks')
      .values({ name, at: sql<string>`now()`, detail: { ...detail } })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet(({ ref }) => ({ at: ref('excluded.at'), detail: ref('excluded.detail') })),
      ),
  );
}
