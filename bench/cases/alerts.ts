import pg from 'pg';
import { pino } from 'pino';
import { createAlertActivities } from '../../activities/maintenance/alert-activities.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { signOrganization } from '../../temporal/header.ts';
import { makeWorld } from '../../test/db/world.ts';
import { testDatabase } from '../../test/support/database.ts';
import { most, type Bench, type BenchOptions, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { using } from '../harness/deployment.ts';

const entries = 200_000;
const workspaces = 20;
/** As many rules as an organization may have: a hundred of each kind, which is the ledger's sum and its count. */
const rulesAKind = 100;
const kinds = ['spend', 'unpriced_usage'] as const;
const windowS = 3_600;
const start = Date.parse('2026-01-01T00:00:00Z');
/** Every tick comes a minute after the one before, like those of the schedule, behind the first hour of the ledger. */
let minutes = 60;

/** What judging costs beside the statements that it can't do without. */
export const alerts: Bench = {
  name: 'alerts',
  about:
    `A tick over an organization with ${kinds.length * rulesAKind} idle rules of ${kinds.length} kinds, each over an hour of ${entries} ledger rows of 24 hours in ${workspaces} workspaces, judged in one process, ` +
    'against the bare SQL of the same on one connection: one aggregate by rule for each kind, the locks of rules and states, and the update of both.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const statements: string[] = [];
  const database = await testDatabase({ onQuery: (sql) => statements.push(sql) });
  keep({ stop: () => database.drop() });
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  keep({ stop: () => admin.end() });
  const { organizationId, workspaceIds } = await makeWorld(database.db, workspaces);
  await seed(admin, organizationId, workspaceIds);
  log(`${entries} rows written`);

  const silent = pino({ level: 'silent' });
  const deps = { db: database.db, log: silent, dispatch: async () => undefined, env: { billingCurrency: 'USD' }, keys: randomKeyRing() };
  const organization = signOrganization(deps.keys.headerKeys, organizationId);
  const { judgeAlerts } = createAlertActivities(deps);
  const judge = async () => {
    const judged = await judgeAlerts({ organization, at: nextTick() });
    if (judged !== kinds.length * rulesAKind) throw new Error(`a tick judged ${judged} rules`);
  };
  await judge();
  const compared = await compare({
    rounds,
    warmUps: 1,
    sides: { bare: () => timed(() => bareTick(admin, organizationId)), product: () => timed(judge) },
  });
  statements.length = 0;
  await judge();
  const told = statements.filter((sql) => !sql.includes('set_config'));
  const measuring = told.filter((sql) => sql.includes('usage_entries')).length;
  return {
    findings: [finding(compared, { what: 'a tick', unit: 'ms', metric: 'ms', floor: 'bare', product: 'product', budget: most(3) })],
    checks: [
      { what: 'statements that measure, a kind', value: measuring / kinds.length, budget: most(1) },
      { what: `other statements of a tick over ${kinds.length * rulesAKind} idle rules`, value: told.length - measuring, budget: most(2) },
    ],
  };
}

const nextTick = () => new Date(start + (minutes += 1) * 60_000).toISOString();

async function timed(work: () => Promise<unknown>): Promise<Sample> {
  const from = performance.now();
  await work();
  return { ms: performance.now() - from };
}

/** Ledger rows spread over a day and the workspaces; rules that none of them breaches, each of one workspace. */
async function seed(admin: pg.Client, organizationId: string, workspaceIds: readonly string[]): Promise<void> {
  await admin.query(
    `insert into usage_entries (id, organization_id, workspace_id, call_key, occurred_at, reserved_at, source_kind, source_id, kind, cost, currency, unpriced)
     select gen_random_uuid(), $1, ($2::uuid[])[n % ${workspaces} + 1], 'bench:' || n, at, at, 'run', gen_random_uuid(), 'llm', 0.000123, 'USD', n % 10 = 0
       from (select n, $3::timestamptz + n * interval '24 hours' / ${entries} as at from generate_series(0, ${entries - 1}) n) t`,
    [organizationId, workspaceIds, new Date(start).toISOString()],
  );
  for (const kind of kinds)
    await admin.query(
      `insert into alert_rules (id, organization_id, workspace_id, name, kind, operator, threshold, window_s, targets)
       select gen_random_uuid(), $1, ($2::uuid[])[n % ${workspaces} + 1], 'Rule ' || n, $3, 'gt', 1000000000, ${windowS}, '[]' from generate_series(1, ${rulesAKind}) n`,
      [organizationId, workspaceIds, kind],
    );
  await admin.query('vacuum analyze usage_entries, alert_rules');
}

/** The same values, locks and writes, without rules that differ, groups or a reducer. */
async function bareTick(admin: pg.Client, organizationId: string): Promise<void> {
  const at = nextTick();
  const rowsOf = `alert_rules r join usage_entries e on e.organization_id = $1 and e.workspace_id = r.workspace_id
    and e.occurred_at > $2::timestamptz - interval '${windowS} seconds' and e.occurred_at <= $2 where r.organization_id = $1`;
  await admin.query(`select r.id, sum(e.cost) from ${rowsOf} and r.kind = 'spend' and e.currency = 'USD' group by 1`, [organizationId, at]);
  await admin.query(`select r.id, count(*) from ${rowsOf} and r.kind = 'unpriced_usage' and e.unpriced group by 1`, [organizationId, at]);
  await admin.query('begin');
  await admin.query('select * from alert_rules where organization_id = $1 and is_active order by id for no key update', [organizationId]);
  await admin.query('select * from alert_states where organization_id = $1 order by rule_id, fingerprint for update', [organizationId]);
  await admin.query('update alert_states set last_tick = $2 where organization_id = $1', [organizationId, at]);
  await admin.query('update alert_rules set last_evaluated_at = $2 where organization_id = $1', [organizationId, at]);
  await admin.query('commit');
}
