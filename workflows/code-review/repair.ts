import { proxyActivities } from '@temporalio/workflow';
import type { EditInput, EditorActivities } from '../contracts/review/editor.ts';
import type { Deadline } from './deadline.ts';

const host = proxyActivities<Pick<EditorActivities, 'prepareEdit' | 'reportEdit'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { maximumAttempts: 10, initialInterval: '1 second', maximumInterval: '5 minutes' },
});
const model = proxyActivities<Pick<EditorActivities, 'askEditor' | 'tryEdit'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { maximumAttempts: 4, initialInterval: '1 second', maximumInterval: '1 minute' },
});
const push = proxyActivities<Pick<EditorActivities, 'pushEdit'>>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { maximumAttempts: 3, initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** If the head moves, the repair starts over once. */
const maxAttempts = 2;
/** Questions to the model in one attempt: files that it wants to see, edits that did not fit, checks that failed. */
const maxRounds = 8;

/**
 * Repairs the findings of a pull request and reports on it; what is pushed by the deadline is reported. `firstStep` is the first free step of the run; returns
 * the next free one.
 */
export async function repair(
  { runId, firstStep }: { readonly runId: string; readonly firstStep: number },
  deadline: Deadline,
): Promise<number> {
  let step = firstStep;
  let attempt = 1;
  for (; attempt <= maxAttempts; attempt += 1) {
    const input = { runId, attempt };
    if (!(await deadline.within(() => host.prepareEdit({ ...input, step: step++ })))) break;
    const made = await deadline.within(() => edit(input, () => step++));
    if (!made || (await push.pushEdit({ ...input, step: step++ })) === 'done') break;
  }
  await host.reportEdit({ runId, step: step++, attempt: Math.min(attempt, maxAttempts) });
  return step;
}

/** Whether there is a commit to push. */
async function edit(input: Omit<EditInput, 'step'>, nextStep: () => number): Promise<boolean> {
  for (let round = 1; round <= maxRounds; round += 1) {
    const isLast = round === maxRounds;
    const turn = await model.askEditor({ ...input, step: nextStep(), round });
    if (turn === 'report') return false;
    if (turn === 'ask') continue;
    const tried = await model.tryEdit({ ...input, step: nextStep(), round, isLast });
    if (tried !== 'ask') return tried === 'push';
  }
  return false;
}
