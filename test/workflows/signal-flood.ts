import { randomUUID } from 'node:crypto';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, readCall, type FakeRuns } from '../fakes/run-activities.ts';
import { until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun } from '../support/worker.ts';

const stepsPerHistory = 100;
const nothingToDo = callsTurn(readCall('settled', { isSettled: true }));

export interface Flood {
  /** How often each message was read. */
  readonly reads: readonly number[];
  readonly begins: number;
  readonly models: readonly string[];
  readonly runId: string;
}

/** A run that goes on in as many new histories as asked while messages keep coming in, the row first and then its signal. */
export async function flood(
  place: TestNamespace,
  fakes: FakeRuns,
  { messages, histories }: { readonly messages: number; readonly histories: number },
): Promise<Flood> {
  const runId = randomUUID();
  const inbox = Array.from({ length: messages }, () => ({ isThere: false, reads: 0 }));
  const unread = () => inbox.filter((message) => message.isThere && message.reads === 0);
  const steps = histories * stepsPerHistory + 10;
  const record = fakes.script(runId, {
    begin: { maxSteps: steps * 2 },
    turns: Array.from({ length: steps * 2 }, (_, index) => async () => {
      for (const message of unread()) message.reads++;
      const isEnd = index + 1 >= steps && inbox.every((message) => message.isThere);
      return isEnd ? { outcome: 'final' as const } : nothingToDo;
    }),
    finish: () => ({ more: unread().length > 0 }),
  });
  const handle = place.temporal.client.workflow.getHandle(workflowIds.run(runId));

  await startAgentRun(place, runId);
  for (const [index, message] of inbox.entries()) {
    await until(() => record.entries.length >= (index * steps) / messages);
    message.isThere = true;
    await handle.signal(agentRunSignals.inputAdded);
  }
  await handle.result();
  return {
    runId,
    reads: inbox.map(({ reads }) => reads),
    begins: record.entries.filter((entry) => entry === 'begin').length,
    models: record.entries.filter((entry) => entry.startsWith('model')),
  };
}
