import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { agentRun } from './agent-run.ts';

/** Goes on with a step in a new execution; called with no activity, child or timer of a step open. */
export async function startOver(runId: string, step: number): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof agentRun>({ runId, step });
}
