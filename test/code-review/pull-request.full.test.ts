import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { deliver, payloadOf } from '../fakes/github/hooks.ts';
import { forkOf, openPull } from '../fakes/github/scene.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/temporal.ts';
import { openFollowed, type FollowedWorld } from './followed-world.ts';
import { found, voted } from './review-world.ts';

let world: FollowedWorld;
let temporal: TcpProxy;

beforeAll(async () => {
  temporal = await startTcpProxy({ host: '127.0.0.1', port: 1 });
  world = await openFollowed({
    files: { 'src/a.ts': 'const a = 1;\nconst b = 2;\n' },
    adapt: (env) => {
      const [host = '', port = ''] = (env['TEMPORAL_ADDRESS'] ?? '').split(':');
      temporal.target = { host, port: Number(port) };
      return { ...env, TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` };
    },
  });
});
beforeEach(() => {
  world.answers = {};
  world.host.onRequest = null;
});
afterAll(async () => {
  await world?.stop();
  await temporal?.close();
});

const changed = (n: number) => ({ 'src/a.ts': `const a = ${n};\nconst b = 2;\n` });

/** Has the model wait at its first pass until it is let go on. */
function held(): { readonly reached: () => boolean; readonly release: () => void } {
  let isHeld = false;
  world.answers = {
    pass: () => {
      isHeld = true;
      return { ...found(), first_token_ms: 600_000 };
    },
  };
  return { reached: () => isHeld, release: () => (world.answers = {}) };
}

test('an opened pull request is reviewed once, however often its delivery comes', async () => {
  const pull = await world.opened('once', changed(10));
  const [first] = world.scene.app.deliveries.slice(-1);
  const again = { event: 'pull_request', payload: JSON.parse(first?.body ?? '{}'), guid: first?.guid ?? '' };
  for (let n = 0; n < 3; n++) await deliver(world.host.state, world.scene.app, again);

  const runs = await world.settled(pull, 1);

  expect(runs.map(({ status, review_head_sha: head }) => [status, head])).toEqual([['succeeded', pull.headSha]]);
});

test('three pushes while a review is at work: only the last head is reviewed to the end', async () => {
  const hold = held();
  const pull = await world.opened('thrice', changed(20));
  await until(async () => hold.reached());
  hold.release();
  const heads: string[] = [];
  for (const n of [21, 22, 23]) heads.push(await world.pushed(pull, changed(n)));

  const runs = await world.settled(pull, 2);
  await until(async () => (await world.settled(pull, 2)).at(-1)?.review_head_sha === heads.at(-1));

  const done = (await world.settled(pull, 2)).filter(({ status }) => status === 'succeeded');
  expect(runs[0]).toMatchObject({ status: 'cancelled', finish_reason: 'superseded' });
  expect(done.map(({ review_head_sha: head }) => head)).toEqual([heads.at(-1)]);
});

test('a worker killed between the event and the end of the review: one run, and it succeeds', async () => {
  const hold = held();
  const pull = await world.opened('killed', changed(30));
  await until(async () => hold.reached());
  await world.stack.kill('worker-bulk');
  hold.release();
  await world.stack.start('worker-bulk');

  const runs = await world.settled(pull, 1);

  expect(runs.map(({ status }) => status)).toEqual(['succeeded']);
});

test('with Temporal down the delivery is taken all the same, and there is one review when it is back', async () => {
  temporal.cut();
  const pull = await world.opened('away', changed(40));
  const [delivery] = world.scene.app.deliveries.slice(-1);
  await deliver(world.host.state, world.scene.app, {
    event: 'pull_request',
    payload: JSON.parse(delivery?.body ?? '{}'),
    guid: delivery?.guid ?? '',
  });
  expect(await world.runsOf(pull)).toEqual([]);
  temporal.mend();

  const runs = await world.settled(pull, 1);

  expect([delivery?.statusCode, runs.map(({ status }) => status)]).toEqual([200, ['succeeded']]);
});

test('a review at work keeps its revision of the playbook; the next one has the new one', async () => {
  const playbook = (await world.stack.request('POST', '/review-playbooks', { body: { slug: 'kept', name: 'Kept', is_default: true } }))
    .body as {
    id: string;
    active_revision_id: string;
  };
  const hold = held();
  const pull = await world.opened('kept', changed(50));
  await until(async () => hold.reached());
  const path = `/review-playbooks/${playbook.id}`;
  const revision = (
    await world.stack.request('POST', `${path}/revisions`, { body: { templates: { ignore_rules: ['x'] }, activate: true } })
  ).body as { id: string };
  await world.stack.kill('worker-bulk');
  hold.release();
  await world.stack.start('worker-bulk');
  await world.settled(pull, 1);
  await world.pushed(pull, changed(51));

  const runs = await world.settled(pull, 2);

  expect(runs.map(({ playbook_revision_id: id }) => id)).toEqual([playbook.active_revision_id, revision.id]);
});

test('a command of whoever may write is obeyed and seen; that of a stranger is not', async () => {
  const pull = await world.opened('commanded', changed(60));
  await world.settled(pull, 1);
  const comment = (id: number, body: string, sender: string) =>
    world.say(pull, 'issue_comment', 'created', {
      sender,
      more: { issue: { number: pull.number, pull_request: {} }, comment: { id, body } },
    });

  await comment(901, '/review full', 'stranger');
  await comment(902, '/review full', 'ada');
  const runs = await world.settled(pull, 2);
  const commands = await world.sql<{ comment_id: string; state: string; run_id: string | null }>(
    'select c.comment_id::text, c.state, c.run_id from review_commands c join review_pull_requests p on p.id = c.pull_request_id where p.pull_number = ? order by c.id',
    [pull.number],
  );

  expect(commands).toEqual([
    { comment_id: '901', state: 'refused', run_id: null },
    { comment_id: '902', state: 'accepted', run_id: runs[1]?.id },
  ]);
  expect(runs[1]?.review).toMatchObject({ full: true, is_automatic: false });
});

test('a fork is reviewed at its own head', async () => {
  const fork = forkOf(world.host, world.scene.repository, 'mona');
  const pull = openPull(world.scene.repository, { branch: 'theirs', files: changed(70), from: fork, author: 'mona' });
  pull.headRepository = null;
  await world.tell(pull, 'opened');

  const [run] = await world.settled(pull, 1);

  expect(run).toMatchObject({ status: 'succeeded', review_head_sha: pull.headSha });
});

test('three pushes give one summary and no finding twice', async () => {
  world.answers = {
    pass: (prompt) =>
      prompt.includes('const a = 9') ? found({ path: 'src/a.ts', line: 1, quote: 'const a = 9', title: 'Never nine' }) : found(),
    verify: () => voted(true),
  };
  const pull = await world.opened('twice', changed(9));
  await world.settled(pull, 1);
  for (const more of [1, 2]) {
    await world.pushed(pull, { ...changed(9), [`src/more${more}.ts`]: `export const more = ${more};\n` });
    await world.settled(pull, more + 1);
  }

  expect((await world.runsOf(pull)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(pull.comments.map(({ line }) => line)).toEqual([1]);
  expect(pull.reviews.filter(({ body }) => body !== null && body !== '')).toHaveLength(1);
  expect(
    await world.sql(
      'select id from review_findings f where f.pull_request_id = (select id from review_pull_requests where pull_number = ?)',
      [pull.number],
    ),
  ).toHaveLength(1);
});

test('a new head while findings are looked at again posts nothing for the old one and cancels its check', async () => {
  let isHeld = false;
  world.answers = {
    pass: () => found({ path: 'src/a.ts', line: 1, quote: 'const a = 90', title: 'Never ninety' }),
    verify: () => {
      isHeld = true;
      return { ...voted(true), first_token_ms: 600_000 };
    },
  };
  const pull = await world.opened('overtaken', changed(90));
  const old = pull.headSha;
  await until(async () => isHeld);
  world.answers = {};
  await world.pushed(pull, changed(91));
  await until(async () => (await world.runsOf(pull)).at(-1)?.status === 'succeeded' && (await world.settled(pull, 2)).length === 2);

  const checks = world.scene.repository.checks.filter(({ headSha }) => headSha === old || headSha === pull.headSha);
  expect(checks.map(({ headSha, conclusion }) => [headSha, conclusion])).toEqual([
    [old, 'cancelled'],
    [pull.headSha, 'success'],
  ]);
  expect([pull.comments, pull.reviews.filter(({ commitId }) => commitId === old)]).toEqual([[], []]);
});

test('an edit of a comment starts something only if it touches the command', async () => {
  const pull = await world.opened('edited', changed(100));
  await world.settled(pull, 1);
  const says = (action: string, body: string) =>
    world.say(pull, 'issue_comment', action, {
      sender: 'ada',
      more: { issue: { number: pull.number, pull_request: {} }, comment: { id: 950, body } },
    });

  await says('created', '/review\nplease');
  await world.settled(pull, 2);
  await says('edited', '/review\nplease, when you have time');
  await says('edited', '/review full\nplease');
  const runs = await world.settled(pull, 3);

  expect(runs.map(({ review }) => [review['full'], review['is_automatic']])).toEqual([
    [false, true],
    [false, false],
    [true, false],
  ]);
});

test('a closed pull request ends its review; a deleted binding all of them, and later deliveries start nothing', async () => {
  const hold = held();
  const closed = await world.opened('closed', changed(80));
  const left = await world.opened('left', changed(81));
  await until(async () => hold.reached());
  closed.state = 'closed';
  await world.tell(closed, 'closed');
  const [run] = await world.settled(closed, 1);
  await until(async () => (await world.runsOf(left)).length === 1);
  await world.stack.request('DELETE', `/repo-bindings/${world.bindingId}`);
  const [other] = await world.settled(left, 1);
  const payload = payloadOf('pull_request', 'synchronize', {
    installation: world.scene.installation,
    repository: world.scene.repository,
    pull: left,
  });
  await deliver(world.host.state, world.scene.app, { event: 'pull_request', payload });

  expect([run?.status, other?.status]).toEqual(['cancelled', 'cancelled']);
  expect(await world.runsOf(left)).toHaveLength(1);
  // The host leaves out the repository of a fork that is deleted, which its own description does not allow.
  expect(world.host.mistakes.filter((mistake) => !mistake.includes('data/head/repo must be object'))).toEqual([]);
});
