import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { childrenOf } from '../../ports/sandbox/watch.ts';
import { tuning } from '../../workers/tuning.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { knowledgeCalls } from '../support/knowledge.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

let stack: Stack;
const { asked, sql, makeBase, ran, upload } = knowledgeCalls(() => stack);

beforeAll(async () => {
  stack = await startOwnStack({ processes: ['api', 'worker-bulk'] });
});
afterAll(() => stack?.stop());

/** Processes of the bulk worker that parse a file. */
function parsers(): number[] {
  return childrenOf(stack.pid('worker-bulk')).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('parse-child.ts');
    } catch {
      return false; // it has ended
    }
  });
}

async function addSource(kbId: string, rows: number): Promise<string> {
  const lines = Array.from({ length: rows }, (_, at) => `${at},name ${at},a note of ${kbId}`);
  const attachment = await upload(['id,name,note', ...lines].join('\n'), 'rows.csv');
  return (await asked<{ id: string }>('POST', `/knowledge-bases/${kbId}/sources`, { attachment_id: attachment })).id;
}

const endsOf = (ids: readonly string[]) =>
  sql<{ state: string; n: number }>('select state, count(*)::int as n from knowledge_sources where id = any (?::uuid[]) group by 1', [
    [...ids],
  ]);

/** Whether a workflow has been told that no parser is free, and waits for its timer. */
async function hasWaited(sourceId: string): Promise<boolean> {
  const history = stack.temporal.client.workflow.getHandle(workflowIds.ingest(sourceId, 1)).fetchHistory();
  const { events } = await history.catch(() => ({ events: [] })); // not started yet
  return (events ?? []).some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
}

/** Files that are read at once, each by a process that is frozen. */
async function hang(kbId: string): Promise<{ readonly hanging: readonly number[]; readonly long: readonly string[] }> {
  const hanging: number[] = [];
  const long: string[] = [];
  for (let file = 1; file <= 2; file += 1) {
    long.push(await addSource(kbId, 60_000));
    await until(async () => parsers().some((pid) => !hanging.includes(pid)));
    for (const pid of parsers()) if (!hanging.includes(pid)) hanging.push(pid);
    for (const pid of hanging) process.kill(pid, 'SIGSTOP');
  }
  return { hanging, long };
}

test('the first file that finds no parser free has the next one without a pause', async () => {
  const base = await makeBase({ embedding_model: 'none' });
  const { hanging, long } = await hang(base.id);
  const [first, second] = [await addSource(base.id, 3), await addSource(base.id, 3)];
  await until(async () => (await hasWaited(first)) || (await hasWaited(second)));

  for (const pid of hanging) process.kill(pid, 'SIGCONT');
  await until(async () => (await endsOf([...long, first, second])).every(({ state }) => state === 'ready'));
  expect([await hasWaited(first), await hasWaited(second)].filter(Boolean)).toHaveLength(1);
});

test('files that wait for a parser keep no other work from the worker, and are read after its death', async () => {
  const base = await makeBase({ embedding_model: 'none' });
  const { hanging, long } = await hang(base.id);
  const waiting: string[] = [];
  for (let file = 0; file < (tuning.bulk.maxConcurrentActivityTaskExecutions ?? 0); file += 1) waiting.push(await addSource(base.id, 3));
  // One of them waits in the worker.
  await until(async () => (await Promise.all(waiting.map(hasWaited))).filter(Boolean).length === waiting.length - 1);

  const other = await makeBase({ embedding_model: 'none' });
  expect(await ran(`/knowledge-bases/${other.id}/maintenance-runs`, { tasks: ['verify'] })).toMatchObject({ status: 'succeeded' });
  expect(parsers().toSorted()).toEqual(hanging.toSorted());
  expect(await endsOf(waiting)).toEqual([expect.objectContaining({ n: waiting.length })]);
  expect((await endsOf(waiting))[0]?.state).not.toBe('ready');

  await stack.kill('worker-bulk');
  await stack.start('worker-bulk');
  await until(async () => (await endsOf([...long, ...waiting])).every(({ state }) => state === 'ready' || state === 'failed'));
  expect(await endsOf([...long, ...waiting])).toEqual([{ state: 'ready', n: long.length + waiting.length }]);
});
