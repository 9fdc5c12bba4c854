import { readPurgedBase } from '../../db/knowledge/bases/bases.ts';
import { purgeTargetOf, readPurgePage } from '../../domain/knowledge/upkeep/purge-batch.ts';
import {
  purgeBase,
  purgeCursorOf,
  purgeFiles,
  purgeFindings,
  purgeItems,
  purgeQuotes,
  purgeSources,
  purgeTotal,
  type PurgeStage,
  type PurgeStep,
} from '../../domain/knowledge/upkeep/purge-stages.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { readAsSystem } from '../support/as-system.ts';
import type { BatchOutcome, RunBatch } from './run-activities.ts';

type Work = (tx: TenantTransaction, step: PurgeStep) => Promise<readonly string[]>;

const works: Readonly<Record<Exclude<PurgeStage, 'items' | 'done'>, Work>> = {
  sources: purgeSources,
  files: purgeFiles,
  findings: purgeFindings,
  quotes: purgeQuotes,
  base: purgeBase,
};

/** Does one batch of a purge. Deleted rows stay deleted, even when the run is cancelled or killed afterwards. */
export async function purgeBatch(batch: RunBatch): Promise<BatchOutcome> {
  const { run, deps, commit } = batch;
  const cursor = purgeCursorOf(run);
  if (cursor.stage === 'done') return { result: { remaining_in: [...cursor.copiesIn] } };
  const base = await readAsSystem(deps, (tx) => readPurgedBase(tx, run.kbId));
  if (base === null) return { result: { remaining_in: [] } };
  const step = { base, target: purgeTargetOf(run), cursor };
  const { stage } = cursor;
  if (stage === 'items') await removeItems(batch, step);
  else {
    const keys = await commit((tx, locked) => works[stage](tx, { ...step, run: locked }));
    // Their rows are deleted. If this is interrupted, the sweep of files without a row removes the rest.
    for (const key of keys) await deps.storage.remove(key);
  }
  return 'more';
}

async function removeItems({ run, deps, commit }: RunBatch, step: Omit<PurgeStep, 'run'>): Promise<void> {
  const { base, target, cursor } = step;
  const found = await readAsSystem(deps, async (tx) => ({
    total: await purgeTotal(tx, base, { run, target }),
    page: await readPurgePage(tx, base, { target, after: cursor.after, embedder: deps.embedder }),
  }));
  await commit((tx, locked) => purgeItems(tx, { ...step, run: locked }, found));
}
