import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, scripted } from '../support/scenario.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';
import { openOperatorWorld, type OperatorWorld } from './operator-world.ts';

let world: OperatorWorld;

beforeAll(async () => {
  world = await openOperatorWorld(['api', 'worker-bulk']);
});

afterAll(() => world?.close());

/** Starts runs, a hundred in a request, in lines of 21: one of each is active and, without a worker, stays queued. */
async function startMany(agentId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 100) {
    const items = Array.from({ length: Math.min(100, left) }, (_, n) => ({
      agent_id: agentId,
      input: { text: scripted({ steps: [{ text: 'Hi.' }] }) },
      session_key: `line-${Math.floor((count - left + n) / 21)}`,
    }));
    const answer: { status: number; body: { failed: number; items: { run: { id: string } | null }[] } } = await world.stack.request(
      'POST',
      '/runs/batch',
      { body: { items } },
    );
    expect([answer.status, answer.body.failed]).toEqual([200, 0]);
    ids.push(...answer.body.items.flatMap(({ run }) => (run ? [run.id] : [])));
  }
  return ids;
}

const cancelMany = (filter: object): Promise<{ status: number; body: Record<string, unknown> }> =>
  world.stack.request('POST', '/runs/cancel', { body: { filter, reason: 'too many' } });
const statuses = async (ids: readonly string[]) =>
  Object.fromEntries(
    (await world.admin('select status, count(*)::int as count from runs where id = any ($1) group by 1', [ids])).map((row) => [
      row['status'],
      row['count'],
    ]),
  );
const cancelsOf = (agentId: string) =>
  world.admin("select id, cancelled, finished_at is not null as done from bulk_cancels where filter ->> 'agent_id' = $1", [agentId]);

test('more than a request ends are cancelled by a workflow, each once, though its worker is killed in the middle; later ones are not meant', async () => {
  const { stack } = world;
  const [agent, beside] = [await makeAgent(stack, []), await makeAgent(stack, [])];
  await stack.kill('worker-bulk');
  const runs = await startMany(agent.id, 735);
  const others = await startMany(beside.id, 5);

  const answer = await cancelMany({ agent_id: agent.id });
  const later = await startMany(beside.id, 5);
  await world.admin(
    'update runs set agent_id = $1, agent_revision_id = (select active_revision_id from agents where id = $1) where id = any ($2)',
    [agent.id, later],
  );
  const inRequest = await statuses(runs);
  await withAdmin(stack.adminUrl, async (client) => {
    // The actives come last: the second round waits for this one, and its worker dies meanwhile.
    await client.query('begin');
    await client.query('select from runs where id = $1 for update', [runs[0]]);
    await stack.start('worker-bulk');
    await until(async () => (await cancelsOf(agent.id))[0]?.['cancelled'] === 200);
    await until(async () => (await waiters()) > 0);
    await stack.kill('worker-bulk', 'SIGKILL');
  });
  const atKill = await statuses(runs);
  await stack.start('worker-bulk');
  await until(async () => (await cancelsOf(agent.id))[0]?.['done'] === true);

  expect(answer).toMatchObject({
    status: 202,
    body: { matched: 735, cancelled: 500, cancelling: 0, already_finished: 0, not_found: 0, continues: true },
  });
  expect([inRequest, atKill]).toEqual([
    { cancelled: 500, queued: 235 },
    { cancelled: 700, queued: 35 },
  ]);
  expect(await statuses(runs)).toEqual({ cancelled: 735 });
  expect(await statuses([...others, ...later])).toEqual({ queued: 10 });
  const [cancel] = await cancelsOf(agent.id);
  expect(cancel).toMatchObject({ cancelled: 235, done: true });
  expect(
    await world.admin(
      "select run_id from run_frame_chunks, unnest(frames) f where run_id = any ($1) and f like '%run.finished%' group by 1 having count(*) <> 1",
      [runs],
    ),
  ).toEqual([]);
  expect(await world.admin('select run_id from run_streams where run_id = any ($1) and not ended', [runs])).toEqual([]);
  const left = 'select id from conversations where active_run_id = any ($1) or (queue_length > 0 and agent_id = $2)';
  expect(await world.admin(left, [runs, agent.id])).toEqual([]);
  const audited = await world.admin(
    "select actor_kind, changes -> 'cancelled' -> 'to' as cancelled from audit_entries where resource_id = $1",
    [cancel?.['id']],
  );
  expect(audited).toEqual([{ actor_kind: 'system', cancelled: 235 }]);
  const closed = () => stack.temporal.client.workflow.getHandle(`cancel:${String(cancel?.['id'])}`).describe();
  await until(async () => (await closed()).status.name === 'COMPLETED');
});

/** Statements of the deployment that wait for a lock. */
async function waiters(): Promise<number> {
  const found = await world.admin(
    "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return Number(found[0]?.['count']);
}

test('500 matches are cancelled in the request and leave nothing to a workflow', async () => {
  const agent = await makeAgent(world.stack, []);
  const runs = await startMany(agent.id, 500);

  const at = performance.now();
  const answer = await cancelMany({ agent_id: agent.id });
  const tookMs = performance.now() - at;

  expect(answer.body).toMatchObject({ matched: 500, cancelled: 500, continues: false });
  expect(await statuses(runs)).toEqual({ cancelled: 500 });
  expect(await cancelsOf(agent.id)).toEqual([]);
  // The statement timeout of the API is 10 s.
  expect(tookMs).toBeLessThan(10_000);
});
