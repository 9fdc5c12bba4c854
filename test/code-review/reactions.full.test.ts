import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { personOf, type FakeComment, type FakePull, type FakeReaction } from '../fakes/github/state.ts';
import { until } from '../support/temporal.ts';
import { openFollowed, type FollowedWorld } from './followed-world.ts';
import { found } from './review-world.ts';

let world: FollowedWorld;

beforeAll(async () => {
  world = await openFollowed({ files: { 'src/a.ts': 'const a = 1;\n' } });
});
beforeEach(() => {
  world.host.onRequest = null;
  world.host.onServed = null;
  world.answers = { pass: () => found({ path: 'src/a.ts', line: 1, quote: 'const a = wrong;', title: 'It goes wrong' }) };
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
});

const listed = 'GET /repos/{owner}/{repo}/pulls/{pull_number}/comments';

function react({ reactions }: FakeComment, ...contents: FakeReaction['content'][]): void {
  for (const content of contents) reactions.push({ id: world.host.state.nextId(), author: personOf(`p${reactions.length}`), content });
}

async function reviewed(branch: string): Promise<{ readonly pull: FakePull; readonly comment: FakeComment }> {
  const pull = await world.opened(branch, { 'src/a.ts': 'const a = wrong;\n' });
  expect((await world.settled(pull, 1)).map(({ status }) => status)).toEqual(['succeeded']);
  return { pull, comment: pull.comments[0]! };
}

async function close(pull: FakePull): Promise<void> {
  pull.state = 'closed';
  await world.tell(pull, 'closed');
}

interface Kept {
  readonly up: number;
  readonly down: number;
  /** Days between the close and what is due; null: nothing is. */
  readonly days: number | null;
}

async function keptOf(pull: FakePull): Promise<Kept | undefined> {
  const [kept] = await world.sql<Kept>(
    `select f.reactions_up as up, f.reactions_down as down, round(extract(epoch from p.due_at - p.closed_at) / 86400, 2)::float8 as days
       from review_pull_requests p join review_findings f on f.pull_request_id = p.id where p.binding_id = ? and p.pull_number = ?`,
    [world.bindingId, pull.number],
  );
  return kept;
}

/** So many days pass, and something comes that has the pull request looked at. */
async function pass(pull: FakePull, days: number): Promise<void> {
  await world.sql(
    `update review_pull_requests set closed_at = closed_at - make_interval(days => ?), due_at = due_at - make_interval(days => ?) where binding_id = ? and pull_number = ? returning id`,
    [days, days, world.bindingId, pull.number],
  );
  await world.tell(pull, 'edited');
}

const isFollowed = async (pull: FakePull) => {
  const handle = world.stack.temporal.client.workflow.getHandle(workflowIds.review(world.bindingId, pull.number));
  return (await handle.describe()).status.name === 'RUNNING';
};

test('reactions are read at the close and a week later, and a worker killed while it reads loses none', async () => {
  const { pull, comment } = await reviewed('liked');
  react(comment, '+1', '+1', '-1', 'eyes');
  let kills = 0;
  world.host.onServed = async ({ route }) => {
    if (route !== listed || kills > 0) return;
    kills += 1;
    await world.stack.kill('worker-bulk', 'SIGKILL');
    await world.stack.start('worker-bulk');
  };
  await close(pull);
  await until(async () => (await keptOf(pull))?.days === 7);
  expect([kills, await keptOf(pull), await isFollowed(pull)]).toEqual([1, { up: 2, down: 1, days: 7 }, true]);

  react(comment, '+1');
  await pass(pull, 7);
  await until(async () => (await keptOf(pull))?.days === null);

  expect(await keptOf(pull)).toEqual({ up: 3, down: 1, days: null });
  await until(async () => !(await isFollowed(pull)));
  expect(await world.runsOf(pull)).toHaveLength(1);
});

test('a host that can not be asked is asked again later, and one that is reopened goes on as before', async () => {
  const { pull, comment } = await reviewed('reopened');
  react(comment, '-1');
  world.host.onRequest = ({ route }) => (route === listed ? { before: 502 } : null);
  await close(pull);
  await until(async () => ((await keptOf(pull))?.days ?? 0) > 0);
  expect(await keptOf(pull)).toEqual({ up: 0, down: 0, days: 0.04 });

  world.host.onRequest = null;
  await pass(pull, 1);
  await until(async () => (await keptOf(pull))?.days === 7);
  expect(await keptOf(pull)).toEqual({ up: 0, down: 1, days: 7 });

  pull.state = 'open';
  await world.tell(pull, 'reopened');
  const runs = await world.settled(pull, 2);

  expect(runs.map(({ status, review }) => [status, review['is_automatic']])).toEqual([
    ['succeeded', true],
    ['succeeded', true],
  ]);
  expect(await keptOf(pull)).toMatchObject({ down: 1, days: null });
});
