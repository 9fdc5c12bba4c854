import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { openFollowed, type FollowedWorld } from './followed-world.ts';
import { openPull } from '../fakes/github/scene.ts';
import { deliver, payloadOf } from '../fakes/github/hooks.ts';
import { until } from '../support/temporal.ts';

let world: FollowedWorld;

beforeAll(async () => {
  world = await openFollowed({ files: { 'src/a.ts': 'const a = 1;\n' } });
});
afterAll(() => world?.stop());

const run = (workflowType: string) =>
  world.stack.temporal.client.workflow.execute(workflowType, { workflowId: `test:${newId()}`, taskQueue: 'bulk' });

test('a delivery that failed is asked for again, one that arrived is not, and a second pass asks for nothing', async () => {
  const { scene, host } = world;
  const pull = openPull(scene.repository, { branch: 'lost', files: { 'src/a.ts': 'const a = 2;\n' } });
  const payload = payloadOf('pull_request', 'opened', { installation: scene.installation, repository: scene.repository, pull });
  const hook = scene.app.hook;
  scene.app.hook = { url: 'http://127.0.0.1:1/', secret: hook?.secret ?? '' };
  const lost = await deliver(host.state, scene.app, { event: 'pull_request', payload });
  scene.app.hook = hook;
  await deliver(host.state, scene.app, { event: 'ping', payload: { zen: 'x' } });

  await run('githubRedeliver');
  const [first] = await world.settled(pull, 1);
  await run('githubRedeliver');

  const asked = host.requests.filter(({ route }) => route === 'POST /app/hook/deliveries/{delivery_id}/attempts');
  expect([lost.statusCode, first?.status, asked.length]).toEqual([502, 'succeeded', 1]);
});

test('what waits without a workflow is woken, and events past 90 days go', async () => {
  const pull = openPull(world.scene.repository, { branch: 'waiting', files: { 'src/a.ts': 'const a = 3;\n' } });
  const columns = 'id, organization_id, workspace_id, binding_id, pull_number, delivery_guid, event, action, facts, created_at';
  const facts = { head_sha: pull.headSha, base_ref: 'main', is_open: true, is_draft: false, is_fork: false };
  const { organizationId, workspaceId } = world.stack.tenant;
  for (const [guid, age, number] of [
    ['waiting', '2 hours', pull.number],
    ['old', '91 days', 999],
  ] as const)
    await world.sql(
      `insert into review_events (${columns}) values (?, ?, ?, ?, ?, ?, 'pull_request', 'opened', ?::jsonb, now() - ?::interval) returning id`,
      [newId(), organizationId, workspaceId, world.bindingId, number, guid, JSON.stringify(facts), age],
    );

  await run('reviewSweep');
  const [made] = await world.settled(pull, 1);
  await until(async () => (await world.sql('select id from review_events where delivery_guid = ?', ['old'])).length === 0);

  expect(made).toMatchObject({ status: 'succeeded', review_head_sha: pull.headSha });
});
