import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { openPull } from '../fakes/github/scene.ts';
import { until } from '../support/temporal.ts';
import { command, openHook } from './host-events.ts';
import { edited, found, openReviews, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;
let admin: pg.Client;
const mirrors = mkdtempSync(join(tmpdir(), 'longhaul-mirrors-'));

beforeAll(async () => {
  world = await openReviews({
    files: { 'src/a.ts': 'const a = 1;\n' },
    adapt: (env) => ({ ...env, LOG_LEVEL: 'debug', REVIEW_MIRROR_DIR: mirrors }),
  });
  await openHook(world);
  admin = new pg.Client({ connectionString: world.stack.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await world?.stop();
  rmSync(mirrors, { recursive: true, force: true });
});

/** Arguments of the processes that work in a mirror, from now on. */
function watchArguments(): { readonly seen: ReadonlySet<string>; stop(): void } {
  const seen = new Set<string>();
  const look = () => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) seen.add(argumentsIn(mirrors, pid));
  };
  const timer = setInterval(look, 20);
  return { seen, stop: () => clearInterval(timer) };
}

function argumentsIn(folder: string, pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ') : '';
  } catch {
    return ''; // it has ended
  }
}

/** What has shown itself at the host, in each form in which it may be written down. */
function credentials(): string[] {
  const { host, scene } = world;
  const sent = host.requests.flatMap(({ headers }) => headers.authorization?.split(' ')[1] ?? []);
  const basic = [...host.state.tokens.keys()].map((token) => Buffer.from(`x-access-token:${token}`).toString('base64'));
  const key = scene.app.privateKey.split('\n').filter((line) => line.length > 60);
  const plain = [...new Set([...host.state.tokens.keys(), ...basic, ...sent, ...key])];
  return plain.flatMap((secret) => [secret, Buffer.from(secret).toString('hex')]);
}

/** Tables that hold one of these texts in some column. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by 1",
  );
  const holding: string[] = [];
  for (const { name } of rows) {
    const asked = `select exists (select from ${name} x where exists (select from unnest($1::text[]) s where strpos(x::text, s) > 0)) as "isThere"`;
    if ((await admin.query<{ isThere: boolean }>(asked, [texts])).rows[0]?.isThere) holding.push(name);
  }
  return holding;
}

function logsOf(): string {
  const folder = join(import.meta.dirname, '../../.longhaul/test-logs');
  const own = readdirSync(folder).filter((name) => name.startsWith(world.stack.temporal.namespace));
  return own.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
}

/** Every text of a history, its payloads among them. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

async function runsOf(pullNumber: number): Promise<string[]> {
  const runs = await world.sql<{ id: string }>(
    'select r.id from runs r join review_pull_requests p on p.id = r.review_pull_request_id where p.pull_number = ? order by r.review_round',
    [pullNumber],
  );
  return runs.map(({ id }) => id);
}

test('during a review and a push no argument of a process, no line of a log, no row and no history holds a token or the key', async () => {
  const { stack, bindingId, scene, host } = world;
  await stack.request('PATCH', `/repo-bindings/${bindingId}`, { body: { editor_config: { mode: 'push' } } });
  const pull = openPull(scene.repository, { branch: 'topic', files: { 'src/a.ts': 'const a = wrong;\n' } });
  world.answers = {
    pass: () => found({ path: 'src/a.ts', line: 1, quote: 'const a = wrong;', title: 'It goes wrong' }),
    edit: () => edited([{ path: 'src/a.ts', find: 'const a = wrong;', replace: 'const a = 1;' }]),
  };
  // Git lives long enough to be seen; and the host refuses once what it is asked for, so that a failure is told as well.
  let refusals = 0;
  host.onRequest = ({ route }) => (route.startsWith('git ') ? { delayMs: 300, ...(refusals++ === 0 ? { before: 401 } : {}) } : null);
  const watch = watchArguments();

  await world.ended(await world.review(pull.number));
  const reviewed = pull.headSha;
  await command(world, pull, '/fix');
  await until(async () => (await runsOf(pull.number)).length === 2);
  const [reviewId = '', fixId = ''] = await runsOf(pull.number);
  const fix = await world.ended(fixId);
  watch.stop();

  expect(fix.output?.json?.posted.commit_sha).toMatch(/^[0-9a-f]{40}$/);
  const secrets = credentials();
  const holding = (text: string) => secrets.filter((secret) => text.includes(secret));
  const lines = [...watch.seen];
  expect(['fetch', 'push'].filter((verb) => !lines.some((line) => line.includes(` ${verb} `)))).toEqual([]);
  expect(secrets.length).toBeGreaterThan(20);
  expect(holding(lines.join('\n'))).toEqual([]);
  const logs = logsOf();
  expect([reviewId, stack.tenant.organizationId].filter((id) => logs.includes(id))).not.toEqual([]);
  expect(holding(logs)).toEqual([]);
  expect(await tablesWith([reviewed])).toContain('review_findings');
  expect(await tablesWith(secrets)).toEqual([]);
  for (const workflowId of [workflowIds.run(reviewId), workflowIds.run(fixId), workflowIds.review(bindingId, pull.number)]) {
    const { events } = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    const history = textsOf(events).join('\n');
    // What it was started with can be read here.
    expect(history.includes(`Id":"${workflowId.split(':')[1]}"`)).toBe(true);
    expect(holding(history)).toEqual([]);
  }
});
