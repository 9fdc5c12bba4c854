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

test('of more failed deliveries than one pass asks for, and than one page lists, each is asked for once; those of last week are not', async () => {
  const { scene, host } = world;
  const pull = openPull(scene.repository, { branch: 'many', files: { 'src/a.ts': 'const a = 4;\n' } });
  const payload = payloadOf('pull_request', 'labeled', { installation: scene.installation, repository: scene.repository, pull });
  const facts = { event: 'pull_request', action: 'labeled', installationId: scene.installation.id, repositoryId: scene.repository.id };
  const failed = (guid: string, days: number) => {
    const deliveredAt = new Date(host.state.now().getTime() - days * 86_400_000);
    const body = JSON.stringify({ ...payload, label: { name: guid } });
    scene.app.deliveries.push({ ...facts, body, id: host.state.nextId(), guid, deliveredAt, isRedelivery: false, statusCode: 502 });
  };
  scene.app.deliveries.length = 0;
  failed('last-week', 7);
  for (let at = 0; at < 130; at += 1) failed(`many-${at}`, 1);
  host.requests.length = 0;
  const asked = () =>
    host.requests.filter(({ route }) => route === 'POST /app/hook/deliveries/{delivery_id}/attempts').map(({ path }) => path);

  await run('githubRedeliver');
  const first = asked().length;
  await run('githubRedeliver');
  const second = asked();
  await run('githubRedeliver');

  expect([first, second.length, new Set(second).size, asked().length]).toEqual([100, 130, 130, 130]);
  expect(scene.app.deliveries.filter(({ isRedelivery, statusCode }) => isRedelivery && statusCode === 200)).toHaveLength(130);
  const taken = await world.sql('select id from review_events where delivery_guid like ?', ['many-%']);
  expect(taken).toHaveLength(130);
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
