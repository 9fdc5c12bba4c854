import pg from 'pg';
import { pino } from 'pino';
import { reserve } from '../../db/billing/budgets/holds.ts';
import { newId } from '../../db/ids.ts';
import { connectDatabases } from '../../db/orm.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import { priceCall } from '../../test/support/budgets.ts';
import { makeAgent, scripted, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { readStream } from '../../test/support/stream-client.ts';
import { least, most, type Bench, type BenchOptions, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding, median } from '../harness/compare.ts';
import { databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { startModels } from '../harness/models.ts';
import { playRuns } from '../harness/product-runs.ts';

const connections = 32;
const reserveMs = 2_000;
const runsASample = 5;
const warmUpRuns = 100;
const model = scripted({ steps: [{ first_token_ms: 900, tokens: 20, delay_ms: 5 }] });

/** What a ceiling costs. */
export const budgets: Bench = {
  name: 'budgets',
  isDurable: true,
  about:
    `Reservations of ${connections} connections in one workspace with a day and a month budget, against updates of one row by as many, each commit flushed; then, one run at a time of one step on a model that takes 1 s, ` +
    'POST /runs and the whole run with both budgets against the same without.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const models = keep(await startModels());
  const stack = keep(await startProduct(['api', 'worker-runs'], { modelBaseUrl: models.baseUrl }));
  await priceCall(stack.db, 'compatible/scripted', '0.000001');
  const agent = await makeAgent(stack, []);
  await playRuns(stack, agent.id, { count: warmUpRuns, concurrency: 4 });
  const runs = await compare({
    rounds,
    warmUps: 1,
    sides: {
      without: () => withBudgets(stack, false, () => playSome(stack, agent.id)),
      with: () => withBudgets(stack, true, () => playSome(stack, agent.id)),
    },
  });
  log('runs measured');

  const { updates, reserves } = await reserving(stack, keep);
  const reserved = await compare({ rounds, warmUps: 1, sides: { updates, reserves: () => withBudgets(stack, true, reserves) } });
  const compared = { unit: 'ms', floor: 'without', product: 'with', budget: most(1.05) } as const;
  return {
    findings: [
      finding(reserved, {
        what: 'reservations a second',
        unit: '/s',
        metric: 'perSecond',
        floor: 'updates',
        product: 'reserves',
        budget: least(0.25),
      }),
      finding(runs, { ...compared, what: 'POST /runs with two budgets', metric: 'postMs' }),
      finding(runs, { ...compared, what: '1 step on a 1 s model with two budgets', metric: 'runMs' }),
    ],
    checks: [],
  };
}

/** Both budgets as they are when nothing has been reserved yet, or none. */
async function withBudgets(stack: Stack, has: boolean, work: () => Promise<Sample>): Promise<Sample> {
  const path = `/budgets/${stack.tenant.workspaceId}`;
  for (const period of ['day', 'month']) {
    await stack.request('DELETE', `${path}?period=${period}`);
    if (has) await stack.request('PUT', path, { body: { period, limit_amount: '1000000', is_enforced: true } });
  }
  return work();
}

async function playSome(stack: Stack, agentId: string): Promise<Sample> {
  const times: { readonly postMs: number; readonly runMs: number }[] = [];
  for (let n = 0; n < runsASample; n += 1) {
    const startedAt = performance.now();
    const run = await startRun(stack, agentId, model);
    const postMs = performance.now() - startedAt;
    const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
    if (frames.at(-1)?.data['status'] !== 'succeeded') throw new Error('a run did not succeed');
    times.push({ postMs, runMs: performance.now() - startedAt });
  }
  return { postMs: median(times.map((one) => one.postMs)), runMs: median(times.map((one) => one.runMs)) };
}

/** Both sides on pools of their own, each connection open before it counts. */
async function reserving(stack: Stack, keep: Keep) {
  const { appUrl, adminUrl } = databaseUrls(stack);
  const pool = new pg.Pool({ connectionString: adminUrl, max: connections });
  keep({ stop: () => pool.end() });
  await pool.query('create table if not exists bench_row (id int primary key, reserved numeric(20,9) not null default 0)');
  await pool.query('insert into bench_row (id) values (1) on conflict do nothing');
  const log = pino({ level: 'silent' });
  const shared = { sweeperPoolMax: 1, applicationName: 'bench', acquireTimeoutMs: 60_000, log, onQuery: () => undefined };
  const sweeperUrl = stack.db.sweeper.config.get('clientUrl') ?? '';
  const db = await connectDatabases({ appUrl, sweeperUrl, poolMax: connections + 2, ...shared });
  keep({ stop: () => db.close() });
  const { organizationId, workspaceId } = stack.tenant;
  const place = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };

  return {
    updates: () => counted(() => pool.query('update bench_row set reserved = reserved + 0.000001 where id = 1')),
    reserves: () =>
      counted(async () => {
        const call = { callKey: newId(), organizationId, workspaceId, caps: [], estimate: '0.000001' };
        const { outcome } = await withAutocommit(db, place, (tx) => reserve(tx, call));
        if (outcome !== 'ok') throw new Error(`a reservation gave ${outcome}`);
      }),
  };
}

async function counted(work: () => Promise<unknown>): Promise<Sample> {
  let done = 0;
  const startedAt = performance.now();
  const lane = async () => {
    for (; performance.now() - startedAt < reserveMs; done += 1) await work();
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return { perSecond: (done * 1_000) / (performance.now() - startedAt) };
}
