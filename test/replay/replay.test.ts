import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { ensureBundle } from '../../workers/build-bundle.ts';
import { tuning } from '../../workers/tuning.ts';
import { installQuietRuntime } from '../support/worker.ts';

/** What the tests read of a history. */
interface History {
  readonly events: readonly { readonly workflowExecutionStartedEventAttributes?: { readonly workflowType: { readonly name: string } } }[];
}

const folder = join(import.meta.dirname, 'histories');
const names = readdirSync(folder).map((file) => file.replace('.json', ''));
const waiting: ReturnType<typeof historyFromJSON>[] = [];
let replays: ReturnType<typeof Worker.runReplayHistories>;

beforeAll(async () => {
  installQuietRuntime();
  const { reuseV8Context, workflowThreadPoolSize, workflowFailureErrorTypes } = tuning.runs;
  const workflowBundle = { codePath: await ensureBundle() };
  replays = Worker.runReplayHistories({ workflowBundle, reuseV8Context, workflowThreadPoolSize, workflowFailureErrorTypes }, given());
});
afterAll(() => replays.return?.());

test.each(names)('the recorded workflow "%s" can be continued by this code', async (name) => {
  await expect(replay(recorded(name))).resolves.toBeUndefined();
});

test('there is a history of each workflow', () => {
  const index = readFileSync(join(import.meta.dirname, '../../workflows/index.ts'), 'utf8');
  const exported = [...index.matchAll(/^export \{ ([^}]+) \}/gm)].flatMap(([, list = '']) => list.split(', '));
  const recordedTypes = names.map(
    (name) => (JSON.parse(recorded(name)) as History).events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name,
  );

  expect(exported.filter((name) => !recordedTypes.includes(name))).toEqual([]);
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
  ['deliver', '"attemptDelivery"', '"sendMail"'],
  ['alert-tick', '"judgeAlerts"', '"sweepAlerts"'],
  ['alert-tick', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW', 'WORKFLOW_EXECUTION_COMPLETED'],
  ['delayed-start', '"admitRun"', '"fireOccurrence"'],
  ['close-groups', '"closeGroup"', '"syncSchedule"'],
  ['org-purge', patch('purge-objects'), patch('another-rule')],
  ['local', patch('local-bounds'), patch('another-rule')],
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

/** One worker plays all of them: to start it and to load the bundle takes most of the time of a replay. */
async function replay(history: string): Promise<void> {
  waiting.push(historyFromJSON(JSON.parse(history)));
  const { value, done } = await replays.next();

  if (done) throw new Error('the worker that replays has ended');
  if (value.error) throw value.error;
}

function* given() {
  for (let history = waiting.shift(); history; history = waiting.shift()) yield { history, workflowId: 'recorded' };
}
