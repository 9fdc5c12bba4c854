import { cancellationSignal } from '@temporalio/activity';
import type { PurgedScope } from '../../db/operator/purge-tables.ts';
import { runsOfPlace } from '../../db/operator/stopped-runs.ts';
import { sweep } from '../../db/transaction.ts';
import type { ActivityDeps } from '../deps.ts';

/**
 * Deletes what Redis holds of all runs of an organization or workspace, before their rows are deleted, which are the only record of it. Repeatable; rejects
 * while Redis is unavailable.
 */
export async function eraseStreamsOf({ db, eraseStreams }: Pick<ActivityDeps, 'db' | 'eraseStreams'>, place: PurgedScope): Promise<void> {
  for (let after: string | null = null; ;) {
    const from: string | null = after;
    const runIds: string[] = await sweep(db, (em) => runsOfPlace(em, place, from));
    if (runIds.length === 0) return;
    cancellationSignal().throwIfAborted();
    await eraseStreams(runIds);
    after = runIds.at(-1) ?? null;
  }
}
