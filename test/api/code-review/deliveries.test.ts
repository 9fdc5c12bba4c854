import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { createApp, createState } from '../../fakes/github/state.ts';
import { startApi } from '../../support/api.ts';
import { withAdmin } from '../../support/template.ts';
import { deliver, makeHook, sqlOf } from '../triggers/hook-calls.ts';
import { openWorld, type World } from '../world.ts';
import { deliverEvent, makeHostHook, shaOf, toldPull, toldRepository } from './github-deliveries.ts';
import { plantBinding } from './review-rows.ts';

const statements: string[] = [];
let world: World;

beforeAll(async () => {
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);

interface EventRow {
  readonly binding_id: string;
  readonly pull_number: number | null;
  readonly event: string;
  readonly action: string;
  readonly facts: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- read by name
}

const admin = (text: string) => withAdmin(world.api.database.adminUrl, (client) => client.query(text));
const eventsOf = (...bindingIds: readonly string[]) =>
  sql<EventRow>('select * from review_events where binding_id = any (?::uuid[]) order by id', [[...bindingIds]]);
const messagesOf = (bindingId: string) =>
  sql<{ target: string; payload: Record<string, unknown> }>('select target, payload from outbox where target like ? order by id', [
    `%${bindingId}%`,
  ]);

let repos = 10;
async function boundScene(more: Parameters<typeof plantBinding>[2] = {}) {
  const repo = toldRepository(++repos, repos + 1_000);
  const scene = await makeHostHook(world);
  const bindingId = await plantBinding(world, scene.tenant, {
    installation_id: repo.installation.id,
    repo_id: repo.repository.id,
    ...more,
  });
  return { repo, scene, bindingId };
}

const opened = (repo: ReturnType<typeof toldRepository>) => ({
  event: 'pull_request',
  action: 'opened',
  facts: { ...repo, more: toldPull(repo) },
});

test('a delivery is handed over in its own transaction: one event, one message, no run', async () => {
  const { repo, scene, bindingId } = await boundScene();

  const answer = await deliverEvent(world, scene, opened(repo));

  expect([answer.status, answer.body.run_id, answer.body.event_id]).toEqual([200, null, null]);
  const [event] = await eventsOf(bindingId);
  expect(event).toMatchObject({
    pull_number: 7,
    event: 'pull_request',
    action: 'opened',
    facts: { head_sha: shaOf('a'), base_ref: 'main', is_draft: false, is_fork: false, is_open: true, sender: 'ada', is_bot: false },
  });
  expect(JSON.stringify(event?.facts)).not.toContain('A change');
  const target = `review:${bindingId}:7`;
  expect(await messagesOf(bindingId)).toEqual([
    {
      target,
      payload: expect.objectContaining({
        kind: 'workflow.start',
        workflowType: 'pullRequest',
        workflowId: target,
        args: [{ bindingId, pullNumber: 7 }],
        signal: 'pullRequestChanged',
        organizationId: scene.tenant.organizationId,
        workspaceId: scene.tenant.workspaceId,
      }),
    },
  ]);
  expect(await sql('select id from runs where workspace_id = ?', [scene.tenant.workspaceId])).toEqual([]);
  const [delivery] = await sql<{ status: string }>('select status from webhook_deliveries where endpoint_id = ?', [scene.id]);
  expect(delivery?.status).toBe('published');
});

test('a delivery that comes twice, or again after a failure of ours, is one event', async () => {
  const { repo, scene, bindingId } = await boundScene();
  const sent = { ...opened(repo), guid: newId() };

  await admin('alter table review_events rename to review_events_away');
  const failed = await deliverEvent(world, scene, sent).finally(() => admin('alter table review_events_away rename to review_events'));
  const redelivered = await deliverEvent(world, scene, sent);
  const again = await Promise.all([1, 2, 3].map(() => deliverEvent(world, scene, sent)));

  expect([failed.status, redelivered.status, redelivered.body.deduplicated]).toEqual([500, 200, false]);
  expect(again.map(({ status, body }) => [status, body.deduplicated])).toEqual(Array(3).fill([200, true]));
  expect([(await eventsOf(bindingId)).length, (await messagesOf(bindingId)).length]).toEqual([1, 1]);
});

test('a ping, what nothing follows from, and what no binding is about are taken and leave nothing', async () => {
  const { repo, scene, bindingId } = await boundScene();
  const other = toldRepository(repo.installation.id, 999_999);
  const issue = { issue: { number: 7 }, comment: { id: 1, body: '/review' } };
  const said = { issue: { number: 7, pull_request: {} }, comment: { id: 1, body: 'Looks good' } };

  const answers = [
    await deliverEvent(world, scene, { event: 'ping', action: null, facts: repo }),
    await deliverEvent(world, scene, { event: 'push', action: null, facts: repo }),
    await deliverEvent(world, scene, { event: 'pull_request', action: 'assigned', facts: { ...repo, more: toldPull(repo) } }),
    await deliverEvent(world, scene, { event: 'issue_comment', action: 'created', facts: { ...repo, more: issue } }),
    await deliverEvent(world, scene, { event: 'issue_comment', action: 'created', facts: { ...repo, more: said } }),
    await deliverEvent(world, scene, opened(other)),
    await deliver(world, scene, { no: 'event' }),
  ];

  expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(200));
  expect([await eventsOf(bindingId), await messagesOf(bindingId)]).toEqual([[], []]);
});

test('a binding that is switched off or deleted gets nothing', async () => {
  const { repo, scene, bindingId } = await boundScene({ is_active: false });
  const gone = await plantBinding(world, scene.tenant, { installation_id: repo.installation.id, repo_id: repo.repository.id + 5_000 });
  await world.call(scene.tenant.tokens.admin, 'DELETE', `/repo-bindings/${gone}`);

  await deliverEvent(world, scene, opened(repo));
  await deliverEvent(world, scene, opened(toldRepository(repo.installation.id, repo.repository.id + 5_000)));

  expect(await eventsOf(bindingId, gone)).toEqual([]);
});

test('an endpoint reaches its own workspace; that of the deployment’s App the deployment’s bindings of all tenants', async () => {
  const { repo, scene } = await boundScene();
  const ids = { installation_id: repo.installation.id, repo_id: repo.repository.id };
  const [second, third] = [await world.tenant(), await world.tenant()];
  const own = await eventsAfter();
  const wide = [
    await plantBinding(world, second, { ...ids, app_kind: 'deployment' }),
    await plantBinding(world, third, { ...ids, app_kind: 'deployment' }),
  ];
  const foreign = await plantBinding(world, third, { ...ids, repo_full_name: `octo/other-${newId()}` });
  await sql('update organizations set status = ? where id = ?', ['suspended', third.organizationId]);
  const slug = scene.path.split('/').at(-1);
  const { database, keys, redisPrefix } = world.api;
  const env = {
    GITHUB_APP_HOOK: `${scene.tenant.workspaceId}/${slug}`,
    GITHUB_APP_ID: '1',
    GITHUB_APP_PRIVATE_KEY: createApp(createState(), 'x').privateKey,
  };
  const api = await startApi({ database, keys, redisPrefix, env });

  await deliverEvent(world, scene, { ...opened(repo), api });
  await api.close();

  expect(own).toBe(0);
  const told = await eventsOf(...wide, foreign);
  // The third tenant's organization is suspended, and its other binding is reached by an App of its own.
  expect(told.map(({ binding_id: id }) => id)).toEqual([wide[0]]);
  const [message] = await messagesOf(wide[0] ?? '');
  expect(message?.payload).toMatchObject({ organizationId: second.organizationId, workspaceId: second.workspaceId });

  async function eventsAfter(): Promise<number> {
    const bindingId = await plantBinding(world, second, { ...ids, repo_full_name: `octo/mine-${newId()}` });
    await deliverEvent(world, scene, opened(repo));
    return (await eventsOf(bindingId)).length;
  }
});

test('what is about the installation or the repository comes to every binding that it is about', async () => {
  const { repo, scene, bindingId } = await boundScene();
  const second = await plantBinding(world, scene.tenant, { installation_id: repo.installation.id, repo_id: repo.repository.id + 7_000 });

  await deliverEvent(world, scene, { event: 'installation', action: 'suspend', facts: repo });
  await deliverEvent(world, scene, { event: 'repository', action: 'renamed', facts: repo });

  const told = await eventsOf(bindingId, second);
  expect(told.map(({ binding_id: id, event, pull_number }) => [id, event, pull_number])).toEqual(
    expect.arrayContaining([
      [bindingId, 'installation', null],
      [second, 'installation', null],
      [bindingId, 'repository', null],
    ]),
  );
  expect(told).toHaveLength(3);
  expect((await messagesOf(second)).map(({ target, payload }) => [target, payload['workflowType']])).toEqual([
    [`binding-stop:${second}`, 'bindingStop'],
  ]);
});

test('a check of a fork names no pull request: its head tells which', async () => {
  const { repo, scene, bindingId } = await boundScene();
  await sql(
    `insert into review_pull_requests (id, organization_id, workspace_id, binding_id, pull_number, head_sha) values (?, ?, ?, ?, 9, ?) returning id`,
    [newId(), scene.tenant.organizationId, scene.tenant.workspaceId, bindingId, shaOf('c')],
  );
  const check = (sha: string) => ({ check_run: { head_sha: sha, external_id: '', pull_requests: [] } });

  for (const sha of [shaOf('c'), shaOf('d')])
    await deliverEvent(world, scene, { event: 'check_run', action: 'rerequested', facts: { ...repo, more: check(sha) } });

  expect((await eventsOf(bindingId)).map(({ pull_number }) => pull_number)).toEqual([9]);
});

test('handing over takes one statement beside the hook’s own, and no more commits', async () => {
  const { repo, scene } = await boundScene();
  const plain = await makeHook(world, { event_kind: 'shop.paid', response_mode: 'ack' });
  const count = async (work: () => Promise<{ status: number }>) => {
    statements.length = 0;
    expect((await work()).status).toBe(200);
    const own = statements.filter((text) => !/update outbox|from outbox|signing_keys/.test(text));
    return {
      own: own.length,
      commits: own.filter((text) => /^commit/i.test(text)).length,
      handed: own.filter((text) => text.includes('review_events')).length,
    };
  };

  await deliver(world, plain, { warm: true });
  await deliverEvent(world, scene, opened(repo));
  const ofPlain = await count(() => deliver(world, plain, { order: 1 }));
  const handedOver = await count(() => deliverEvent(world, scene, opened(repo)));

  expect(handedOver.handed).toBe(1);
  expect(handedOver.commits).toBe(ofPlain.commits);
  // The event of the other leaves in its place.
  expect(handedOver.own - ofPlain.own).toBeLessThanOrEqual(4);
});

test('a replay of a delivery is handed over again', async () => {
  const { repo, scene, bindingId } = await boundScene();
  const { admin } = scene.tenant.tokens;
  const { body } = await deliverEvent(world, scene, opened(repo));

  const replayed = await world.call(admin, 'POST', `/webhook-endpoints/${scene.id}/deliveries/${body.delivery_id}/replay`);
  const tested = await world.call(admin, 'POST', `/webhook-endpoints/${scene.id}/test`, { body: { body: { a: 1 } } });

  expect([replayed.status, tested.body.would_start]).toEqual([202, false]);
  expect(await eventsOf(bindingId)).toHaveLength(2);
});
