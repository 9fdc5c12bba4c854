import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { agentRun } from './agent-run.ts';

/** Continues with a step in a new execution; call it only while no activity, child or timer of a step is open. */
export async function startOver(runId: string, step: number): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof agentRun>({ runId, step });
}
