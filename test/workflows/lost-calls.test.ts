import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { priceCall, testBudgets, type TestBudgets } from '../support/budgets.ts';
import { rollupFaults } from '../support/ledger.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';
import { runUpkeep } from '../support/upkeep.ts';

let models: ModelServer;
let stack: Stack;
let budgets: TestBudgets;
let agentId: string;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
  budgets = testBudgets(stack.db, stack.tenant);
  await budgets.day(null);
  await priceCall(stack.db, 'compatible/scripted', '0.1');
  agentId = (await makeAgent(stack, [])).id;
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(stack.db, (em) => rows<T>(em, text, params));

async function start(step: ScriptStep, more: object = {}): Promise<string> {
  const body = { agent_id: agentId, input: { text: scripted({ steps: [step] }, `Spend ${crypto.randomUUID()}.`) }, ...more };
  const { status, body: run } = await stack.request('POST', '/runs', { body });
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(run)}`);
  return (run as { id: string }).id;
}

interface Entry {
  readonly attempt: number;
  readonly estimated: boolean;
  readonly input: number;
  readonly output: number;
  readonly cost: string;
}

const ledger = (runId: string) =>
  sql<Entry>(
    `select attempt, estimated, input_tokens::int as input, output_tokens::int as output, trim_scale(cost)::text as cost
       from usage_entries where run_id = ? order by attempt`,
    [runId],
  );
const isInFlight = (runId: string) =>
  until(async () => (await sql('select 1 from run_steps where run_id = ? and in_flight is not null', [runId])).length === 1);
const statusOf = async (runId: string) => ((await stack.request('GET', `/runs/${runId}`)).body as { status: string }).status;
const upkeep = () => runUpkeep(stack.temporal, 'budget-holds');
const holds = (runId: string) =>
  sql<{ state: string }>('select state from budget_holds where call_key like ? order by call_key', [`run:${runId}:%`]);

test('an answer that was whole and could not be stored is in the ledger under the id by which its provider knows it', async () => {
  // Refuses the first message of an assistant; what a sequence has given stays given.
  await withAdmin(stack.adminUrl, async (admin) => {
    await admin.query('create sequence test_refusals; grant usage on sequence test_refusals to public');
    await admin.query(`create function test_refuse() returns trigger language plpgsql as $$
      begin if nextval('test_refusals') = 1 then raise exception 'refused'; end if; return new; end $$`);
    await admin.query(
      `create trigger test_refuse before insert on messages for each row when (new.role = 'assistant') execute function test_refuse()`,
    );
  });

  const runId = await start({ text: 'Twice paid.' });
  await endOf(watchRun(stack, runId));
  await withAdmin(stack.adminUrl, (admin) =>
    admin.query('drop trigger test_refuse on messages; drop function test_refuse; drop sequence test_refusals'),
  );

  expect(await statusOf(runId)).toBe('succeeded');
  const paid = await sql<{ attempt: number; estimated: boolean; id: string }>(
    'select attempt, estimated, provider_request_id as id from usage_entries where run_id = ? order by attempt',
    [runId],
  );
  expect(paid).toMatchObject([
    { attempt: 1, estimated: false },
    { attempt: 2, estimated: false },
  ]);
  const asked = models.calls().map(({ requestId }) => requestId);
  expect(paid.map(({ id }) => asked.includes(id))).toEqual([true, true]);
});

test('calls of a worker that was killed are settled by estimate, each once: in the middle of the answer, before its first word, of a run that was cancelled, and of one that was erased', async () => {
  const capped = { limits: { max_cost: '1' } };
  const hanging: ScriptStep = { text: 'Late.', faults: [{ kind: 'hang', after: 0 }] };
  const inAnswer = await start({ tokens: 60, delay_ms: 100 }, capped);
  const beforeWords = await start(hanging);
  const neverLeft = await start(hanging, capped);
  const cancelled = await start(hanging, capped);
  const erased = await start({ tokens: 60, delay_ms: 100 });
  const reader = watchRun(stack, inAnswer);
  await until(() => reader.frames.filter(({ type }) => type === 'message.delta').length >= 3);
  for (const runId of [inAnswer, beforeWords, neverLeft, cancelled, erased]) await isInFlight(runId);
  await until(() => models.calls().filter(({ body }) => JSON.stringify(body).includes('Spend ')).length >= 5);

  await stack.kill('worker-runs');
  // As if it had been killed between the hold and the call.
  await sql('update run_steps set in_flight = null where run_id = ?', [neverLeft]);
  for (const runId of [cancelled, erased]) await stack.request('POST', `/runs/${runId}/cancel`, { body: {} });
  await stack.start('worker-runs');

  const seen = await endOf(reader);
  const others = await Promise.all([beforeWords, neverLeft].map((runId) => endOf(watchRun(stack, runId))));
  await until(async () => (await statusOf(cancelled)) === 'cancelled' && (await statusOf(erased)) === 'cancelled');

  const whole = { attempt: 2, estimated: false, cost: '0.1' };
  expect(await ledger(inAnswer)).toEqual([
    { attempt: 1, estimated: true, input: expect.any(Number), output: expect.any(Number), cost: '0.1' },
    expect.objectContaining(whole),
  ]);
  const [lost] = await ledger(inAnswer);
  expect([lost && lost.input > 0, lost && lost.output > 0 && lost.output < 60]).toEqual([true, true]);
  expect(await ledger(beforeWords)).toMatchObject([{ attempt: 1, estimated: true, output: 0, cost: '0.1' }, whole]);
  expect(await ledger(neverLeft)).toMatchObject([whole]);
  // The capped ones are counted where they were reserved, and nothing waits for a lease.
  expect([await holds(inAnswer), await holds(neverLeft)]).toEqual([
    [{ state: 'settled' }, { state: 'settled' }],
    [{ state: 'released' }, { state: 'settled' }],
  ]);
  const windows = await budgets.windows();
  expect(windows.find(({ name }) => name === `run:${inAnswer}`)).toMatchObject({ spent: '0.2', reserved: '0' });
  expect(windows.find(({ name }) => name === `run:${neverLeft}`)).toMatchObject({ spent: '0.1', reserved: '0' });
  for (const [runId, frames] of [
    [inAnswer, seen],
    [beforeWords, others[0] ?? []],
  ] as const) {
    const { run, faults } = await checkRun(stack, runId, { seen: [frames] });
    expect([faults, run.usage.own]).toEqual([[], expect.objectContaining({ cost_amount: '0.20', model_calls: 2, estimated: true })]);
  }

  // The others have no next try: the one is settled when it is erased, the other by the upkeep, once nobody can be at it any more.
  expect([await ledger(cancelled), await ledger(erased)]).toEqual([[], []]);
  await upkeep();
  expect((await stack.request('DELETE', `/runs/${erased}`)).status).toBe(204);
  expect(await ledger(erased)).toMatchObject([{ attempt: 1, estimated: true, cost: '0.1' }]);
  expect(await ledger(cancelled)).toEqual([]);
  await sql("update runs set finished_at = finished_at - interval '2 minutes' where id = ?", [cancelled]);
  await until(async () => {
    await upkeep();
    return (await ledger(cancelled)).length === 1;
  });
  expect(await ledger(cancelled)).toMatchObject([{ attempt: 1, estimated: true, output: 0, cost: '0.1' }]);
  expect((await budgets.windows()).find(({ name }) => name === `run:${cancelled}`)).toMatchObject({
    spent: '0.1',
    reserved: '0',
    is_closed: true,
  });
  expect(await sql('select 1 from run_steps where in_flight is not null and workspace_id = ?', [stack.tenant.workspaceId])).toEqual([]);
  expect(await rollupFaults(stack.db, stack.tenant.workspaceId)).toEqual([]);
});
