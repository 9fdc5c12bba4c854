import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { countedAndReal, knowledgeCalls } from '../support/knowledge.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { words } from '../workflows/knowledge-world.ts';
import { paid, startPaidStack, type PaidStack } from '../workflows/paid-stack.ts';
import { holdStatements, type Stop } from '../support/held-statements.ts';
import { expectCopied, mixedBase, pictureOf, reembedWorld, startedReembed, type ReembedWorld } from '../workflows/reembed-world.ts';

let own: OwnServices;
let deployment: PaidStack;
let stack: Stack;
let world: ReembedWorld;
const { asked, sql, makeBase, addItems, ran, endOf } = knowledgeCalls(() => stack);

beforeAll(async () => {
  own = await ownServices('knowledge');
  deployment = await startPaidStack({ processes: ['api', 'worker-bulk'] });
  ({ stack } = deployment);
  world = reembedWorld(stack);
});
beforeEach(() => deployment.reset());
afterAll(async () => {
  await deployment?.stop().catch(() => undefined); // a failed test may have left PostgreSQL away
  await own?.stop();
});

/** SIGKILL of the server, which comes back with what was committed. */
async function killPostgres(): Promise<void> {
  await own.kill('postgres');
  await own.up('postgres');
  await until(() =>
    asked('GET', '/knowledge-bases').then(
      () => true,
      () => false,
    ),
  );
}

/** Kills the server while a statement of some work waits there, and lets it go on. */
async function killAt<R>(stop: Stop, start: () => Promise<R>): Promise<R> {
  const held = await holdStatements(stack.adminUrl, stop);
  const started = await start();
  await held.reached();
  await killPostgres();
  await held.letGo();
  return started;
}

/** Nothing was billed twice, and no more was sent than the chunks that there are and what was in flight. */
async function expectBilledOnce(sourceIds: readonly string[], chunks: number): Promise<void> {
  expect(deployment.inputs().length).toBeLessThanOrEqual(chunks + 256);
  const ledger = await sql<{ call_key: string; input_tokens: string }>(
    'select call_key, input_tokens from usage_entries where source_id = any (?::uuid[])',
    [[...sourceIds]],
  );
  expect(new Set(ledger.map(({ call_key: key }) => key)).size).toBe(ledger.length);
  const distinct = [...new Set(deployment.inputs())].reduce((sum, text) => sum + text.split(' ').length, 0);
  expect(ledger.reduce((sum, entry) => sum + Number(entry.input_tokens), 0)).toBe(distinct);
}

test.each<[string, Stop]>([
  ['writes staged items', { table: 'knowledge_items', event: 'insert', when: 'new.staged_run_id is not null' }],
  ['writes vectors', { table: 'knowledge_vectors', event: 'insert' }],
  ['publishes them', { table: 'knowledge_items', event: 'update', when: 'new.staged_run_id is null and old.staged_run_id is not null' }],
])('PostgreSQL killed while an ingestion %s: the source ends as undisturbed', async (_, stop) => {
  const [base, twin] = [await makeBase({ embedding_model: paid.id }), await makeBase({ embedding_model: paid.id })];
  const text = words(`ingest${stop.table}${stop.event}`, 60);
  const add = (kbId: string) => asked<{ id: string; run_id: string }>('POST', `/knowledge-bases/${kbId}/sources`, { text, title: 'Text' });

  const source = await killAt(stop, () => add(base.id));
  const run = await endOf(source.run_id);
  await expectBilledOnce([base.id, source.run_id], run.counts['chunks'] ?? 0);
  const calm = await endOf((await add(twin.id)).run_id);

  expect(run).toMatchObject({ status: 'succeeded', counts: calm.counts });
  const [counted, real] = await countedAndReal(sql, base.id);
  expect(counted).toEqual(real);
  expect(await pictureOf(world, base.id)).toMatchObject({ numbers: (await pictureOf(world, twin.id)).numbers });
});

test.each<[string, Stop]>([
  ['copies items', { table: 'knowledge_items', event: 'insert', when: 'new.predecessor_item_id is not null' }],
  ['writes vectors', { table: 'knowledge_vectors', event: 'insert' }],
  ['keeps what a call gave', { table: 'knowledge_embedding_cache', event: 'insert' }],
  ['cuts over', { table: 'knowledge_bases', event: 'update', when: 'new.activated_at is not null and old.activated_at is null' }],
])('PostgreSQL killed while a re-embed %s: the new base takes the place of the old one', async (_, stop) => {
  const kbId = await mixedBase(world);
  const before = await pictureOf(world, kbId);

  const run = await killAt(stop, () => startedReembed(world, kbId, paid.id));

  await expectCopied(world, { kbId, before, inputs: deployment.inputs }, run);
});

test('PostgreSQL killed as soon as a re-embed has cut over: it stays so', async () => {
  const kbId = await mixedBase(world);
  const before = await pictureOf(world, kbId);
  const run = await startedReembed(world, kbId, paid.id);
  await until(async () => (await sql('select id from knowledge_runs where id = ? and cut_over_at is not null', [run.runId])).length > 0);

  await killPostgres();

  await expectCopied(world, { kbId, before, inputs: deployment.inputs }, run);
});

const startedRun = async (path: string, body: unknown) => (await asked<{ id: string }>('POST', path, body)).id;
const contents = Array.from({ length: 400 }, (_, at) => ({ content: `Item ${at} of the pump, of some length and words.` }));

test('PostgreSQL killed while an import writes items: each row is there once', async () => {
  const [base, target] = [await makeBase(), await makeBase()];
  await addItems(base.id, contents);
  const bundle = await ran(`/knowledge-bases/${base.id}/export`, {});
  const stop = { table: 'knowledge_items', event: 'insert', when: `new.kb_id = '${target.id}'` } as const;

  const runId = await killAt(stop, () =>
    startedRun(`/knowledge-bases/${target.id}/import`, { attachment_id: bundle.attachment_id, keep_state: true }),
  );

  expect(await endOf(runId)).toMatchObject({ status: 'succeeded', error_count: 0, result: { created: 400 } });
  expect((await pictureOf(world, target.id)).numbers).toEqual((await pictureOf(world, base.id)).numbers);
});

test('PostgreSQL killed while a purge deletes items: nothing of the base is left', async () => {
  const base = await makeBase();
  await addItems(base.id, contents);

  const runId = await killAt({ table: 'knowledge_items', event: 'delete' }, () =>
    startedRun(`/knowledge-bases/${base.id}/purge`, { confirm: base.slug, mode: 'all' }),
  );

  expect(await endOf(runId)).toMatchObject({ status: 'succeeded', counts: { items: 400 } });
  expect(await sql('select id from knowledge_items where kb_id = ?', [base.id])).toEqual([]);
  expect(await sql('select chunk_id from knowledge_vectors where kb_id = ?', [base.id])).toEqual([]);
});

test('PostgreSQL killed while maintenance writes findings: the same findings and merges as undisturbed', async () => {
  const bases = [await makeBase(), await makeBase()];
  for (const { id } of bases) {
    await addItems(id, [...contents.slice(0, 60), ...contents.slice(0, 30)]);
    await asked('PUT', `/knowledge-bases/${id}/maintenance-policy`, { auto_merge: true, duplicate_threshold: 1 });
  }
  const path = (at: number) => `/knowledge-bases/${bases[at]?.id ?? ''}/maintenance-runs`;

  const runId = await killAt({ table: 'knowledge_findings', event: 'insert' }, () => startedRun(path(0), { tasks: ['dedupe'] }));
  const run = await endOf(runId);
  const calm = await ran(path(1), { tasks: ['dedupe'] });

  expect(run).toMatchObject({ status: 'succeeded', counts: calm.counts });
  const [picture, undisturbed] = [await pictureOf(world, bases[0]?.id ?? ''), await pictureOf(world, bases[1]?.id ?? '')];
  expect(picture.numbers).toEqual(undisturbed.numbers);
});
