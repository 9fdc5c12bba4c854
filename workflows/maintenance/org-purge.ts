import { ActivityFailure, patched, proxyActivities, setHandler, sleep } from '@temporalio/workflow';
import type { PurgeActivities } from '../contracts/upkeep/operator.ts';
import { stateChangedSignal } from './stop.ts';

const { openPurge, stopAll, deleteRows, deleteObjects, dropKeys, tombstone } = proxyActivities<PurgeActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 20 },
});
const { failPurge } = proxyActivities<Pick<PurgeActivities, 'failPurge'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const drainPauseMs = 1_000;
const maxDrainPauses = 60;
const againPauseMs = 5_000;

/**
 * Id `maint:org-purge:<organization>`: removes what an organization had, table by table, children first. Every activity continues where an earlier try has
 * stopped. A step that fails 20 times ends the purge as failed; another request starts or wakes this workflow.
 */
export async function orgPurge(): Promise<void> {
  let isDue = true;
  setHandler(stateChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    await purgeOnce();
  }
}

async function purgeOnce(): Promise<void> {
  const at = { step: 'open' };
  try {
    const { isOpen, tables } = await openPurge();
    if (!isOpen) return;

    at.step = 'stop';
    await drainRuns();
    // Rows that were written meanwhile are deleted in another round.
    while (!(await purgeRows(tables, at))) await sleep(againPauseMs);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    await failPurge(at);
  }
}

async function purgeRows(tables: readonly string[], at: { step: string }): Promise<boolean> {
  for (const table of tables) {
    at.step = table;
    for (let isEmpty = false; !isEmpty;) isEmpty = await deleteRows({ table });
  }
  if (patched('purge-objects')) {
    at.step = 'objects';
    await deleteObjects();
  }
  at.step = 'keys';
  await dropKeys();
  at.step = 'tombstone';
  return tombstone();
}

/** Gives live runs a minute to end as cancelled; any that still work after it find their rows deleted. */
async function drainRuns(): Promise<void> {
  for (let pauses = 0; (await stopAll()) > 0 && pauses < maxDrainPauses; pauses++) await sleep(drainPauseMs);
}
