import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { send } from '../fakes/embedding-server.ts';
import { knowledgeCalls } from '../support/knowledge.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { words } from './knowledge-world.ts';
import { paid, startPaidStack, type PaidStack } from './paid-stack.ts';
import { freeSlug } from './reembed-world.ts';

let deployment: PaidStack;
let stack: Stack;
const { asked, sql, makeBase, addItems, ran, endOf } = knowledgeCalls(() => stack);

beforeAll(async () => {
  deployment = await startPaidStack({ processes: ['api', 'worker-bulk'] });
  ({ stack } = deployment);
});
beforeEach(() => deployment.reset());
afterAll(() => deployment?.stop());

const workflow = (id: string) => stack.temporal.client.workflow.getHandle(id);
const stateOf = (id: string) =>
  workflow(id)
    .describe()
    .then(
      ({ status }) => status.name,
      () => 'MISSING',
    );
/** A text that is too long to be indexed in its request. */
const long = (seed: string) => words(seed, 250);

/** One pass of the upkeep of lost work. */
async function tendLost(): Promise<void> {
  const options = { workflowId: `test:${newId()}`, taskQueue: 'bulk' };
  await stack.temporal.client.workflow.execute('tendReembeds', options);
}

/** Work of each kind that no worker has begun; its workflows. */
async function waitingWork() {
  const [filled, target, gone, ingested, indexed] = [
    await makeBase(),
    await makeBase(),
    await makeBase(),
    await makeBase(),
    await makeBase(),
  ];
  await addItems(filled.id, [{ content: 'The pump is blue.' }, { content: 'The valve is red.' }]);
  const bundle = await ran(`/knowledge-bases/${filled.id}/export`, {});
  await stack.kill('worker-bulk');

  const started = async (path: string, body: unknown) => (await asked<{ id: string }>('POST', path, body)).id;
  const runIds = [
    await started(`/knowledge-bases/${filled.id}/maintenance-runs`, { tasks: ['verify'] }),
    await started(`/knowledge-bases/${filled.id}/export`, {}),
    await started(`/knowledge-bases/${target.id}/import`, { attachment_id: bundle.attachment_id }),
    await started(`/knowledge-bases/${gone.id}/purge`, { confirm: gone.slug, mode: 'all' }),
  ];
  const sources = `/knowledge-bases/${ingested.id}/sources`;
  const source = await asked<{ id: string; run_id: string }>('POST', sources, { text: 'The crane lifts forty tonnes.' });
  await addItems(indexed.id, [{ content: long('lost') }]);
  const ids = [...runIds.map(workflowIds.knowledgeRun), workflowIds.ingest(source.id, 1), workflowIds.indexBase(indexed.id)];
  for (const id of ids) await until(async () => (await stateOf(id)) === 'RUNNING');
  return { ids, runIds: [...runIds, source.run_id], sourceId: source.id, indexedId: indexed.id };
}

/** The upkeep leaves work alone that has just begun. */
const age = (runIds: readonly string[]) =>
  sql(`update knowledge_runs set created_at = created_at - interval '1 hour' where id = any (?::uuid[])`, [[...runIds]]);
const isIndexed = (kbId: string) => async () =>
  (await sql(`select from knowledge_items where kb_id = ? and index_state = 'pending'`, [kbId])).length === 0;

test('work whose workflow was ended from outside ends failed with a reason, and the index of a base goes on', async () => {
  const { ids, runIds, sourceId, indexedId } = await waitingWork();
  for (const id of ids) await workflow(id).terminate('a test');
  await age(runIds);
  await stack.start('worker-bulk');

  await tendLost();

  for (const runId of runIds) expect(await endOf(runId)).toMatchObject({ status: 'failed' });
  const codes = await sql('select distinct code from knowledge_run_errors where run_id = any (?::uuid[])', [runIds]);
  expect(codes).toEqual([{ code: 'interrupted' }]);
  expect(await asked('GET', `/knowledge-sources/${sourceId}`)).toMatchObject({ state: 'failed', error: { code: 'interrupted' } });
  await until(isIndexed(indexedId));
  const synced = await asked<{ run_id: string }>('POST', `/knowledge-sources/${sourceId}/sync`);
  expect(await endOf(synced.run_id)).toMatchObject({ status: 'succeeded', counts: { items: 1 } });
});

test('work whose workflow Temporal has lost gets it again and comes to its end; one that is at work is left alone', async () => {
  const { ids, runIds, indexedId } = await waitingWork();
  const alive = ids.shift() ?? '';
  const { runId: before } = await workflow(alive).describe();
  const { workflowService } = stack.temporal.connection;
  for (const workflowId of ids)
    await workflowService.deleteWorkflowExecution({
      namespace: stack.temporal.client.options.namespace,
      workflowExecution: { workflowId },
    });
  for (const id of ids) await until(async () => (await stateOf(id)) === 'MISSING');
  await age(runIds);
  await stack.start('worker-bulk');

  await tendLost();

  for (const runId of runIds) expect(await endOf(runId)).toMatchObject({ status: 'succeeded' });
  await until(isIndexed(indexedId));
  expect((await workflow(alive).describe()).runId).toBe(before);
});

const budget = (limit: string) =>
  asked('PUT', `/budgets/${stack.tenant.workspaceId}`, { period: 'day', limit_amount: limit, is_enforced: true });

test('an index that waits for money goes on as soon as a budget is written', async () => {
  const base = await makeBase({ embedding_model: paid.id });
  await budget('0');
  await addItems(base.id, [{ content: 'The gate is open.' }]);
  // Its own timer would ring a quarter of an hour later.
  await until(async () => {
    const history = await workflow(workflowIds.indexBase(base.id))
      .fetchHistory()
      .catch(() => null); // not started yet
    return (history?.events ?? []).some(({ timerStartedEventAttributes: timer }) => timer);
  });
  expect(deployment.server.calls).toEqual([]);

  await budget('10');

  await until(isIndexed(base.id));
  expect(deployment.inputs()).toHaveLength(1);
});

test('an ingestion that finds no room in a budget is paused, goes on when one is written, and is cancelled where it has waited for too long', async () => {
  const base = await makeBase({ embedding_model: paid.id });
  await budget('0');
  const text = 'The bridge carries ninety tonnes.';
  const started = await Promise.all(
    [text, `${text} Twice.`].map((one) =>
      asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, { text: one }),
    ),
  );
  const runOf = (id: string) => asked('GET', `/knowledge-maintenance-runs/${id}`);
  const [first, second] = started.map(({ run_id: id }) => id);
  for (const { id, run_id: runId } of started) {
    await until(async () => (await sql(`select from knowledge_runs where id = ? and status = 'paused'`, [runId])).length === 1);
    expect(await asked('GET', `/knowledge-sources/${id}`)).toMatchObject({ state: 'indexing', error: null });
    expect(await runOf(runId)).toMatchObject({ status: 'paused', paused_reason: 'budget' });
  }
  expect(deployment.inputs()).toEqual([]);
  await sql(`update knowledge_runs set paused_at = now() - interval '25 hours' where id = ?`, [second]);

  await budget('10');

  expect(await endOf(first ?? '')).toMatchObject({ status: 'succeeded', paused_reason: null, counts: { items: 1 } });
  expect(await endOf(second ?? '')).toMatchObject({ status: 'cancelled', paused_reason: null });
  expect(deployment.inputs()).toHaveLength(1);
  const staged = await sql('select from knowledge_items where staged_run_id = ?', [second]);
  expect(staged).toEqual([]);
});

test('golden queries pass the budget, are billed once and never scored without their vector', async () => {
  const base = await makeBase({ embedding_model: paid.id });
  await addItems(base.id, [
    { content: 'The lock opens at noon.', external_id: 'lock' },
    { content: 'The mill is closed.', external_id: 'mill' },
  ]);
  await until(isIndexed(base.id));
  const golden = ['when does the lock open', 'is the mill closed', 'when does the lock open'].map((query) => ({
    query,
    relevant: ['lock'],
  }));
  await asked('PUT', `/knowledge-bases/${base.id}/maintenance-policy`, { golden_queries: golden });
  const asked1 = deployment.inputs().length;
  // Less than one call takes is left of it.
  await budget('10');
  const [window] = await deployment.budgets.windows();
  await budget((Number(window?.spent) + 0.000001).toFixed(9));

  const { id } = await asked<{ id: string }>('POST', `/knowledge-bases/${base.id}/maintenance-runs`, { tasks: ['evaluate_retrieval'] });
  await until(async () => (await asked<{ status: string }>('GET', `/knowledge-maintenance-runs/${id}`)).status === 'paused');
  expect(deployment.inputs()).toHaveLength(asked1);
  let refusals = 0;
  deployment.server.reply = (_, response) => refusals++ === 0 && send(response, 500, {});
  await budget('10');

  const run = await endOf(id);
  expect(run).toMatchObject({ status: 'succeeded', result: { evaluate_retrieval: { queries: 3, legs: { vector: {}, fused: {} } } } });
  const answered = deployment.inputs().slice(asked1 + 1);
  const ledger = await sql<{ call_key: string; kind: string; input_tokens: string }>(
    'select call_key, kind, input_tokens from usage_entries where source_id = ?',
    [id],
  );
  // One try was refused; the next one asked for each of the two texts.
  expect([answered.toSorted(), refusals]).toEqual([['is the mill closed', 'when does the lock open'], 3]);
  expect(ledger.map(({ kind, input_tokens: n }) => [kind, Number(n)]).toSorted()).toEqual([
    ['embedding', 4],
    ['embedding', 5],
  ]);
});

test.each(['DELETE', 'purge of all'])('a base that is gone by %s leaves no schedule', async (how) => {
  const base = await makeBase();
  await asked('PUT', `/knowledge-bases/${base.id}/maintenance-policy`, { schedule: '0 3 * * *', tasks: ['verify'] });
  const isScheduled = () =>
    stack.temporal.client.schedule
      .getHandle(workflowIds.policy(base.id))
      .describe()
      .then(
        () => true,
        () => false,
      );
  await until(isScheduled);

  if (how === 'DELETE') await stack.request('DELETE', `/knowledge-bases/${base.id}`);
  else await ran(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'all' });

  await until(async () => !(await isScheduled()));
});

/** Bytes of the largest payload anywhere in an event. */
function largestPayload(value: unknown): number {
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  return Math.max(0, ...Object.values(value).map(largestPayload));
}

test('no payload of a workflow of knowledge has more than 2 KB, whatever the texts that it works on', async () => {
  const base = await makeBase({ embedding_model: 'none' });
  const items = Array.from({ length: 300 }, (_, at) => ({
    content: `${at} ${'The harbour is deep. '.repeat(20)}`,
    title: 'x'.repeat(250),
  }));
  await addItems(base.id, [...items, { content: long('payload') }]);
  const source = await asked<{ run_id: string }>('POST', `/knowledge-bases/${base.id}/sources`, {
    text: long('source'),
    title: 'y'.repeat(250),
  });
  await endOf(source.run_id);
  await until(isIndexed(base.id));
  await asked('PUT', `/knowledge-bases/${base.id}/maintenance-policy`, { schedule: '0 3 * * *', tasks: ['verify', 'dedupe'] });
  await until(async () => (await stateOf(workflowIds.policySync(base.id))) === 'COMPLETED');
  await stack.temporal.client.schedule.getHandle(workflowIds.policy(base.id)).trigger();
  const runOf = `select id from knowledge_runs where kb_id = ? and kind = 'maintenance'`;
  await until(async () => (await sql(runOf, [base.id])).length > 0);
  for (const { id } of await sql<{ id: string }>(runOf, [base.id])) await endOf(id);
  const bundle = await ran(`/knowledge-bases/${base.id}/export`, { include_vectors: true });
  const other = await makeBase();
  await ran(`/knowledge-bases/${other.id}/import`, { attachment_id: bundle.attachment_id });
  await ran(`/knowledge-bases/${other.id}/purge`, { confirm: other.slug, mode: 'all' });
  const reply = await stack.request('POST', `/knowledge-bases/${base.id}/reembed`, {
    body: { slug: freeSlug(), embedding_model: 'hash-v1' },
  });
  await endOf(reply.headers.get('x-run-id') ?? '');

  const seen = new Map<string, number>();
  for await (const { workflowId, runId, type } of stack.temporal.client.workflow.list()) {
    const { events } = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
    seen.set(type, Math.max(seen.get(type) ?? 0, largestPayload(events)));
  }

  const types = ['indexBase', 'ingestSource', 'knowledgeRun', 'policyRun', 'policySync', 'reembedBase', 'tendReembeds'];
  expect(types.filter((type) => !seen.has(type))).toEqual([]);
  expect([...seen].filter(([, bytes]) => bytes > 2_000)).toEqual([]);
});
