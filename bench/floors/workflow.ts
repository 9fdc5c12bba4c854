import { proxyActivities } from '@temporalio/workflow';
import type { FloorActivities } from './worker.ts';

const { begin, call, finish } = proxyActivities<FloorActivities>({ startToCloseTimeout: '1 minute' });

/** A bare workflow with as many activities as a run of one step has. */
export async function floorRun(id: string): Promise<void> {
  await begin(id);
  await call(id);
  await finish(id);
}
