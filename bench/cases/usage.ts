import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import pg from 'pg';
import { rebuildDay } from '../../db/billing/ledger/rebuild-rollups.ts';
import { sweep } from '../../db/transaction.ts';
import type { Stack } from '../../test/support/stack.ts';
import { most, type Bench, type BenchOptions, type Check, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { authorization, databaseUrls, startProduct, using } from '../harness/deployment.ts';
import { memoryBytes, record, untilAnswer } from '../probe/client.ts';

const entries = 1_000_000;
const days = 90;
const start = '2026-01-01T00:00:00Z';
const end = '2026-04-01T00:00:00Z';
const pageRows = 5_000;

/** What the ledger's readers cost when it is long. */
export const usage: Bench = {
  name: 'usage',
  about:
    `GET /usage by day over ${days} days of ${entries} ledger rows (3 agents, 2 models, 2 people; as many days before them, and 2.6 million rollups of other workspaces beside them), against the bare sum of the ledger by day on one connection; ` +
    'and GET /usage/export of all of them as CSV, against the same pages read by a bare pg client. Memory is sampled all through the export: what is in use after a collection, and what the process holds (RSS), over what it was after a first export: V8 keeps the heap that it has once taken.',
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const stack = keep(await startProduct(['api']));
  const admin = new pg.Client({ connectionString: databaseUrls(stack).adminUrl });
  await admin.connect();
  keep({ stop: () => admin.end() });
  await seed(stack, admin, log);
  const { workspaceId } = stack.tenant;

  const listed = await compare({
    rounds,
    warmUps: 1,
    sides: { bare: () => timed(() => sumLedger(admin, workspaceId)), product: () => timed(() => stack.request('GET', listPath)) },
  });
  log('list measured');
  const idle = await memoryOf(stack);
  await exportAll(stack);
  const warm = await memoryOf(stack);
  const peak = { used: 0, rss: 0 };
  const exported = await compare({
    rounds: Math.min(rounds, 3),
    warmUps: 0,
    sides: { bare: () => timed(() => readPages(admin, workspaceId)), product: () => timed(() => exportAll(stack, peak)) },
  });
  const mib = (now: number, before: number) => Math.max(0, (now - before) / 1_048_576);
  const sides = { floor: 'bare', product: 'product', metric: 'ms', unit: 'ms' } as const;
  return {
    findings: [
      finding(listed, { ...sides, what: `sums of ${days} days`, budget: null }),
      finding(exported, { ...sides, what: `export of ${entries} rows`, budget: null }),
    ],
    checks: [
      ...(await listGates(stack, admin)),
      { what: 'export: MiB in use over idle', value: mib(peak.used, idle.used), budget: most(32) },
      { what: 'export: MiB of RSS over that after an export', value: mib(peak.rss, warm.rss), budget: most(32) },
      { what: 'export: rows of one transaction, at most', value: await largestPage(stack), budget: most(2 * pageRows) },
    ],
  };
}

const listPath = `/usage?from=${start}&to=${end}`;

/** Ledger rows of the range, as many days before it, and a neighbour's; then all rollups. */
async function seed(stack: Stack, admin: pg.Client, log: (line: string) => void): Promise<void> {
  const { organizationId, workspaceId } = stack.tenant;
  const neighbour = crypto.randomUUID();
  await admin.query('insert into workspaces (id, organization_id, slug, name) values ($1, $2, $3, $3)', [
    neighbour,
    organizationId,
    `n-${neighbour.slice(0, 8)}`,
  ]);
  const id = (seed: string) => `overlay('00000000-0000-7000-8000-000000000000' placing lpad(to_hex(${seed}), 12, '0') from 25)::uuid`;
  const insert = (place: string, count: number, from: string, offset: number) =>
    admin.query(
      `insert into usage_entries (id, organization_id, workspace_id, call_key, occurred_at, reserved_at, source_kind, source_id, run_id, agent_id, user_id, step, kind, model, provider, tier,
         provider_request_id, input_tokens, output_tokens, cost, currency)
       select ${id(`n + ${offset}`)}, $1, $2, 'bench:' || (n + ${offset}), at, at, 'run', ${id('n / 4')}, ${id('n / 4')}, ${id('n % 3')}, ${id('n % 2')}, n % 4 + 1, 'llm', 'openai/gpt-' || (n / 7 % 2), 'openai',
              'standard', 'chatcmpl-' || md5(n::text), n % 5000, n % 900, (n % 10000)::numeric / 1000000, 'USD'
         from (select n, $3::timestamptz + n * interval '${days} days' / ${count} as at from generate_series(0, ${count - 1}) n) t`,
      [organizationId, place, from],
    );
  await insert(workspaceId, entries, start, 0);
  await insert(workspaceId, 100_000, '2025-10-03T00:00:00Z', entries);
  await insert(neighbour, 100_000, start, entries + 100_000);
  log(`${entries} rows written`);
  await admin.query('vacuum analyze usage_entries');
  for (const place of [workspaceId, neighbour])
    for (let n = -days; n < days; n++)
      await sweep(stack.db, (em) =>
        rebuildDay(em, { workspaceId: place, day: new Date(Date.parse(start) + n * 86_400_000).toISOString().slice(0, 10) }),
      );
  await admin.query(
    `insert into usage_rollups (id, organization_id, workspace_id, bucket_start, agent_id, kind, currency, calls)
     select gen_random_uuid(), $1, md5((n % 100)::text)::uuid, $2::timestamptz + (n % 864000 / 100) * interval '15 minutes', md5((n / 864000)::text)::uuid, 'llm', 'USD', 1
       from generate_series(0, 2591999) n`,
    [organizationId, start],
  );
  await admin.query('vacuum analyze usage_rollups');
  log('rollups built');
}

async function timed(work: () => Promise<unknown>): Promise<Sample> {
  const from = performance.now();
  await work();
  return { ms: performance.now() - from };
}

async function sumLedger(admin: pg.Client, workspaceId: string): Promise<void> {
  await admin.query(
    `select occurred_at::date, currency, count(*), sum(input_tokens), sum(output_tokens), sum(cost) from usage_entries
      where workspace_id = $1 and occurred_at >= $2 and occurred_at < $3 group by 1, 2 order by 1 desc`,
    [workspaceId, start, end],
  );
}

async function readPages(admin: pg.Client, workspaceId: string): Promise<void> {
  let after: [string, string] = ['-infinity', '00000000-0000-0000-0000-000000000000'];
  for (let found = pageRows; found === pageRows;) {
    const { rows } = await admin.query<{ id: string; at: string }>(
      `select *, occurred_at::text as at from usage_entries where workspace_id = $1 and occurred_at >= $2 and occurred_at < $3 and (occurred_at, id) > ($4, $5)
        order by occurred_at, id limit ${pageRows}`,
      [workspaceId, start, end, ...after],
    );
    found = rows.length;
    after = [rows.at(-1)?.at ?? '', rows.at(-1)?.id ?? ''];
  }
}

/** Reads the whole export away; where `peak` is given, samples memory meanwhile. */
async function exportAll(stack: Stack, peak?: { used: number; rss: number }): Promise<void> {
  let isOver = false;
  const sampling = peak && sample(stack, peak, () => isOver);
  const lines = await new Promise<number>((resolve, reject) => {
    get(`${stack.url()}/usage/export?from=${start}&to=${end}`, { headers: authorization(stack) }, (response) => {
      let count = 0;
      response.on('data', (chunk: Buffer) => {
        for (const byte of chunk) if (byte === 10) count += 1;
      });
      response.on('close', () => (response.complete ? resolve(count) : reject(new Error('the export broke'))));
    }).on('error', reject);
  });
  isOver = true;
  await sampling;
  if (lines !== entries + 1) throw new Error(`the export has ${lines} lines`);
}

async function sample(stack: Stack, peak: { used: number; rss: number }, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    peak.rss = Math.max(peak.rss, rssOf(stack.pid('api')));
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (Math.random() < 0.1) peak.used = Math.max(peak.used, await memoryBytes(stack.pid('api')));
  }
}

async function memoryOf(stack: Stack): Promise<{ used: number; rss: number }> {
  return { used: await memoryBytes(stack.pid('api')), rss: rssOf(stack.pid('api')) };
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) * 1_024;
}

async function listGates(stack: Stack, admin: pg.Client): Promise<Check[]> {
  const events = untilAnswer(await record(stack.pid('api'), () => stack.request('GET', listPath)));
  const asked = events.filter((event) => event.kind === 'sql' && event.text.includes('usage_'));
  const [statement] = asked;
  if (!statement) throw new Error('no query of the list was recorded');
  const client = new pg.Client({ connectionString: databaseUrls(stack).appUrl });
  await client.connect();
  const settings = { org: stack.tenant.organizationId, user: 'none', ws: `{${stack.tenant.workspaceId}}`, ws_all: 'off', operator: 'off' };
  for (const [name, value] of Object.entries(settings)) await client.query('select set_config($1, $2, false)', [`app.${name}`, value]);
  const plan = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`explain (analyze, format json) ${statement.text}`, [
    ...statement.params,
  ]);
  await client.end();
  const { rows } = await admin.query<{ count: number }>(
    'select count(*)::int as count from usage_rollups where workspace_id = $1 and bucket_start >= $2 and bucket_start < $3',
    [stack.tenant.workspaceId, start, end],
  );
  const read = plan.rows[0] ? rowsRead(plan.rows[0]['QUERY PLAN'][0].Plan) : Number.NaN;
  return [
    { what: 'list: queries of the ledger and its rollups', value: asked.length, budget: most(1) },
    { what: 'list: rows read to rollups in range', value: read / (rows[0]?.count ?? Number.NaN), budget: most(1.1) },
  ];
}

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Plans'?: readonly PlanNode[];
}

/** Rows that the scans of rollups looked at, those that a filter took out included. */
function rowsRead(node: PlanNode): number {
  const own =
    node['Relation Name'] === 'usage_rollups'
      ? ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
        (node['Actual Loops'] ?? 1)
      : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own);
}

/** Most rows that a statement of the export may give, by its bound. */
async function largestPage(stack: Stack): Promise<number> {
  const path = `/usage/export?from=${start}&to=2026-01-01T06:00:00Z&format=ndjson`;
  const events = await record(stack.pid('api'), () =>
    fetch(`${stack.url()}${path}`, { headers: authorization(stack) }).then((reply) => reply.text()),
  );
  const limits = events.flatMap((event) =>
    event.kind === 'sql' && event.text.includes('usage_entries') ? event.params.filter((value) => /^\d{1,6}$/.test(String(value))) : [],
  );
  return Math.max(...limits.map(Number));
}
