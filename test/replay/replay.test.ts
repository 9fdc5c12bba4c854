import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { ensureBundle } from '../../workers/build-bundle.ts';
import { tuning } from '../../workers/tuning.ts';
import { installQuietRuntime } from '../support/worker.ts';

const folder = join(import.meta.dirname, 'histories');
const names = readdirSync(folder).map((file) => file.replace('.json', ''));
let bundlePath: string;

beforeAll(async () => {
  installQuietRuntime();
  bundlePath = await ensureBundle();
});

test.each(names)('the recorded run "%s" can be continued by this code', async (name) => {
  await expect(replay(recorded(name))).resolves.toBeUndefined();
});

test('a history that this code would not have made is refused', async () => {
  const mutated = recorded('tools').replaceAll('"runTool"', '"settleTool"');

  await expect(replay(mutated)).rejects.toThrow(DeterminismViolationError);
});

test.each([
  ['approval', '"openGates"', '"settleGates"'],
  ['approval-expired', '"settleGates"', '"openGates"'],
  ['gated-at-claim', '"openGates"', '"callModel"'],
  ['client', '"settleGates"', '"runTool"'],
  ['child', '"openChild"', '"runTool"'],
  ['cancel-child', '"settleTool"', '"runTool"'],
  ['budget', '"openGates"', '"finishRun"'],
  ['timer', '"settleGates"', '"callModel"'],
  ['waited-clock', '"beginRun"', '"settleGates"'],
  ['exclusive', patch('exclusive-alone'), patch('another-rule')],
])('a history of "%s" that says %s otherwise is refused', async (name, from, to) => {
  const history = recorded(name);

  expect(history).toContain(from);
  await expect(replay(history.replaceAll(from, to))).rejects.toThrow(DeterminismViolationError);
});

test('a loop that asks the model a second time would be noticed', async () => {
  const events = JSON.parse(recorded('plain')).events as {
    eventType: string;
    activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  }[];
  const finish = events.find((event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'finishRun');

  if (finish?.activityTaskScheduledEventAttributes) finish.activityTaskScheduledEventAttributes.activityType.name = 'callModel';
  await expect(replay(JSON.stringify({ events }))).rejects.toThrow(DeterminismViolationError);
});

/** What a marker holds of a patch. */
function patch(id: string): string {
  return btoa(JSON.stringify({ id, deprecated: false }));
}

function recorded(name: string): string {
  return readFileSync(join(folder, `${name}.json`), 'utf8');
}

function replay(history: string): Promise<void> {
  const { reuseV8Context, workflowThreadPoolSize, workflowFailureErrorTypes } = tuning.runs;

  return Worker.runReplayHistory(
    { workflowBundle: { codePath: bundlePath }, reuseV8Context, workflowThreadPoolSize, workflowFailureErrorTypes },
    historyFromJSON(JSON.parse(history)),
  );
}
