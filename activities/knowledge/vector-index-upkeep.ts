import { cancellationSignal } from '@temporalio/activity';
import { buildVectorIndex, dropVectorIndex } from '../../db/knowledge/search/build-vector-index.ts';
import { basesWithIdleIndex, basesWithoutIndex } from '../../db/knowledge/search/vector-indexes.ts';
import { sweep } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';

const builtADay = 100;

type UpkeepDeps = Pick<ActivityDeps, 'db' | 'env' | 'log'>;

/** The activity of the daily maintenance of vector indexes. */
export function createIndexUpkeep(deps: UpkeepDeps): Pick<MaintenanceActivities, 'tendVectorIndexes'> {
  return { tendVectorIndexes: () => tendVectorIndexes(deps, cancellationSignal()) };
}

/**
 * Drops the vector indexes of small and deleted bases and builds missing ones of large bases, as the role that owns the tables. Without that role's URL nothing
 * is done, and vectors are scanned. Returns how many it dropped and built.
 */
export async function tendVectorIndexes(
  { db, env: { databaseOwnerUrl: ownerUrl }, log }: UpkeepDeps,
  signal: AbortSignal,
): Promise<number> {
  if (ownerUrl === null) return 0;
  let count = 0;
  const tend = async (kbId: string, work: () => Promise<unknown>) => {
    signal.throwIfAborted();
    await work().then(
      () => (count += 1),
      (err: unknown) => log.error({ err, knowledge_base_id: kbId }, 'vector index not tended'),
    );
  };
  for (const { kbId } of await sweep(db, (em) => basesWithIdleIndex({ em })))
    await tend(kbId, () => dropVectorIndex({ ownerUrl, kbId, signal }));
  for (const { kbId, dim } of await sweep(db, (em) => basesWithoutIndex({ em }, builtADay)))
    await tend(kbId, () => buildVectorIndex({ ownerUrl, kbId, dim, signal }));
  return count;
}
