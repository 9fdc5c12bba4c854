import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';

/** A data key, wrapped under a deployment key. */
interface WrappedKey {
  readonly id: string;
  readonly wrapped: Buffer;
  readonly kekId: string;
}

/** Stores a live data key of an organization, or of the platform (null); of two made at once the first stays. */
export async function insertDataKey(
  em: SqlEntityManager,
  { id, organizationId, wrapped, kekId }: WrappedKey & { readonly organizationId: string | null },
): Promise<void> {
  await change(
    em,
    query
      .insertInto('data_keys')
      .values({ id, organizationId, wrapped, kekId })
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Retires a data key: it still decrypts, but no longer encrypts. */
export async function retireDataKey(em: SqlEntityManager, id: string): Promise<void> {
  await change(
    em,
    query
      .updateTable('data_keys')
      .set({ retiredAt: sql<string>`now()` })
      .where('id', '=', id),
  );
}

/** Stores a rewrapped data key. */
export async function writeWrapped(em: SqlEntityManager, { id, wrapped, kekId }: WrappedKey): Promise<void> {
  await change(em, query.updateTable('data_keys').set({ wrapped, kekId }).where('id', '=', id));
}
