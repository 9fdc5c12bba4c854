import { proxyActivities } from '@temporalio/workflow';
import { maxToolTestSeconds, type ToolTestActivities, type ToolTestInput } from '../contracts/tools/tool-test.ts';

const { testTool } = proxyActivities<ToolTestActivities>({
  startToCloseTimeout: (maxToolTestSeconds + 10) * 1000,
  scheduleToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumAttempts: 4 },
});

/** Workflow `tooltest:<id>`: an author tries a tool once. The test's row holds the result. */
export async function toolTest(input: ToolTestInput): Promise<void> {
  await testTool(input);
}
