import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { lockRunsWithTrees } from '../../db/runs/run-state.ts';
import { lockStreams } from '../../db/streams/append.ts';
import { openStreamWorld, type StreamWorld } from '../streams/stream-world.ts';

let world: StreamWorld;
beforeAll(async () => {
  world = await openStreamWorld();
  // Among thousands of runs a tree is found by nested loops, as in a deployment.
  const admin = await connected();
  await admin.query('set session_replication_role = replica');
  await admin.query(
    `insert into runs (id, organization_id, workspace_id, agent_id, agent_revision_id, conversation_id, root_run_id, agent_slug, source, created_by_kind, input, limits,
       usage_own, usage_subtree, status, finish_reason, finished_at)
     select i, i, i, i, i, i, i, 'agent', 'api', 'system', '{}', '{}', '{}', '{}', 'succeeded', 'stop', now() from (select uuidv7() as i from generate_series(1, 3000)) as made`,
  );
  await admin.query(
    'insert into run_streams (run_id, organization_id, workspace_id, root_run_id, ended) select id, id, id, id, true from runs',
  );
  await admin.query('analyze runs, run_streams');
  await admin.end();
});
afterAll(() => world.close());

test.each([0, 1, 2, 3])('of a tree that is locked no run is left out because somebody was changing it (run %i)', async (n) => {
  const root = await world.startRun();
  const children = [await world.makeRun(root), await world.makeRun(root), await world.makeRun(root)];
  const ids = [root, ...children].map((run) => run.runId);
  await world.admin('update runs set lineage = array[root_run_id] where root_run_id = $1 and id <> $1', [root.runId]);
  const changing = await connected();
  await changing.query('begin');
  await changing.query(`update runs set metadata = '{"changed": true}' where id = $1`, [ids[n]]);
  await changing.query('update run_streams set updated_at = now() where run_id = $1', [ids[n]]);

  const locked = world.inTransaction(root, async (tx) => {
    const runs = await lockRunsWithTrees(tx, [root.runId]);
    const streams = await lockStreams(tx, ids);
    return [runs.map((run) => run.id), [...streams.keys()]];
  });
  await delay(300); // it waits by now
  await changing.query('commit');
  await changing.end();

  expect(await locked).toEqual([ids, ids]);
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.database.adminUrl });
  await client.connect();
  return client;
}
