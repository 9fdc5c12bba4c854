import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { concludeCheck, openCheck } from '../../activities/code-review/host/checks.ts';
import { postReply } from '../../activities/code-review/host/post-reply.ts';
import { postReview } from '../../activities/code-review/host/post-review.ts';
import { rebuildLedger } from '../../activities/code-review/host/rebuild-ledger.ts';
import { openRepository } from '../../activities/code-review/read/open-repository.ts';
import { settleThreads } from '../../activities/code-review/host/threads.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import { readAsSystem } from '../../activities/support/as-system.ts';
import { readReviewRun } from '../../db/code-review/pulls/review-run.ts';
import { findingMarker } from '../../domain/code-review/pipeline/markers.ts';
import { parsePatch } from '../../ports/diff/patch.ts';
import type { HostFault, HostRequest } from '../fakes/github/index.ts';
import { gitIn } from '../fakes/github/repositories.ts';
import { pushTo } from '../fakes/github/scene.ts';
import { personOf } from '../fakes/github/state.ts';
import { findingAt, openPosting, type PostingScene, type PostingWorld } from './posting-world.ts';

let posting: PostingWorld;

beforeAll(async () => {
  posting = await openPosting();
});
afterEach(() => {
  posting.host.onRequest = null;
  posting.host.onServed = null;
  posting.host.requests.length = 0;
});
afterAll(async () => {
  expect(posting?.host.mistakes).toEqual([]);
  await posting?.close();
});

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('');
const many = (count: number) => Array.from({ length: count }, (_, at) => findingAt('a.txt', at + 1));
const writes = (route = '') => posting.host.writes().filter((request) => request.route.includes(route));

/** Makes the first request of a route fail so. */
function failOnce(route: string, fault: HostFault): void {
  let isLeft = true;
  posting.host.onRequest = (request: HostRequest) => {
    if (!isLeft || request.route !== route) return null;
    isLeft = false;
    return fault;
  };
}

/** Tries as Temporal does: again after what may pass later, without its pauses. Claims age, as they do meanwhile. */
async function untilDone<R>({ tenant }: PostingScene, work: (deps: ActivityDeps) => Promise<R>, attempts = 6): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await posting.act(tenant, work);
    } catch (error) {
      if (attempt >= attempts || Reflect.get(error as object, 'nonRetryable') === true) throw error;
      await posting.sql("update review_posts set updated_at = updated_at - interval '1 minute' where state = 'sending'");
    }
  }
}

const reviewsRoute = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews';
const post = (scene: PostingScene, runId: string) => untilDone(scene, (deps) => postReview(deps, { runId }));

test('45 comments go in two reviews; after a 502 that had acted, and a lost answer, 45 stand there', async () => {
  const scene = await posting.open({ 'a.txt': lines(60) });
  const runId = await scene.plan({ findings: many(45) });

  failOnce(reviewsRoute, { after: 502 });
  await expect(post(scene, runId)).resolves.toEqual({ outcome: 'posted' });

  const { comments, reviews } = scene.pull;
  expect(comments.map(({ line }) => line).toSorted((a, b) => a! - b!)).toEqual(many(45).map(({ saidLine }) => saidLine));
  expect(reviews.map(({ commitId }) => commitId)).toEqual([scene.pull.headSha, scene.pull.headSha]);
  expect(reviews[0]!.body).toMatch(/^All read\./);
  const posts = await posting.sql<{ state: string; github_id: string }>(
    'select state, github_id from review_posts where owner_id = ? order by ordinal',
    [runId],
  );
  expect(posts).toEqual(reviews.map(({ id }) => ({ state: 'posted', github_id: String(id) })));
  const kept = await posting.sql<{ comment_id: number }>(
    'select comment_id::float8 as comment_id from review_findings where first_run_id = ? order by comment_id',
    [runId],
  );
  expect(kept.map(({ comment_id: id }) => id)).toEqual(comments.map(({ id }) => id));
});

test.each([
  ['before the host acts', { before: 502 }],
  ['after it has acted', { after: 502 }],
  ['with the answer lost', { drop: true }],
  ['by a limit', { before: 429, headers: { 'retry-after': '1' } }],
] as const)('a review that fails %s stands there once', async (_name, fault) => {
  const scene = await posting.open({ 'a.txt': lines(9), 'b.txt': 'b\n' });
  const runId = await scene.plan({ findings: [findingAt('a.txt', 3), findingAt('b.txt', null)] });

  failOnce(reviewsRoute, fault);
  await post(scene, runId);
  await post(scene, runId);

  expect(scene.pull.comments.map(({ path, subjectType }) => [path, subjectType])).toEqual([
    ['a.txt', 'line'],
    ['b.txt', 'file'],
  ]);
});

test('a comment on a file whose answer is lost stands there once', async () => {
  const scene = await posting.open({ 'a.txt': lines(9), 'b.txt': 'b\n' });
  const runId = await scene.plan({ findings: [findingAt('b.txt', null)] });

  failOnce('POST /repos/{owner}/{repo}/pulls/{pull_number}/comments', { drop: true });
  await post(scene, runId);

  expect(scene.pull.comments.length).toBe(1);
});

test('a claim that is young is not sent again at once: the host may still be at it', async () => {
  const scene = await posting.open({ 'a.txt': lines(9) });
  const runId = await scene.plan({ findings: [findingAt('a.txt', 3)] });
  failOnce(reviewsRoute, { before: 502 });

  const attempt = () => posting.act(scene.tenant, (deps) => postReview(deps, { runId })).catch((error: unknown) => error);
  await attempt();
  const second = await attempt();

  expect(second).toMatchObject({ code: 'upstream_failed' });
  expect(scene.pull.reviews).toEqual([]);
});

test('what the host does not take where it lies is told in the review, and all else stands on its lines', async () => {
  const scene = await posting.open({ 'a.txt': lines(9) });
  const runId = await scene.plan({
    findings: [findingAt('a.txt', 3), findingAt('a.txt', 99, { title: 'Far away' }), findingAt('a.txt', 5)],
  });

  await post(scene, runId);
  await post(scene, runId);

  expect(scene.pull.comments.map(({ line }) => line)).toEqual([3, 5]);
  expect(scene.pull.reviews.map(({ body }) => body)).toEqual([
    expect.stringMatching(/^All read\.\n\nWithout a place in the diff:\n- high · bug: Far away \(`a\.txt` line 99\)/),
  ]);
});

test('another head, or a closed pull request, gets nothing', async () => {
  const scene = await posting.open({ 'a.txt': lines(9) });
  const runId = await scene.plan({ findings: many(3) });
  pushTo(scene.scene.repository, scene.pull, { files: { 'a.txt': lines(10) } });

  await expect(post(scene, runId)).resolves.toEqual({ outcome: 'stale' });
  scene.pull.state = 'closed';
  await expect(post(scene, runId)).resolves.toEqual({ outcome: 'closed' });
  expect(writes()).toEqual([]);
});

test('the summary is written once and edited in place only when it says something new', async () => {
  const scene = await posting.open({ 'a.txt': lines(20) });
  await post(scene, await scene.plan({ summary: 'Two findings at `abcdef1234`.', findings: [findingAt('a.txt', 1)] }));
  const [first] = scene.pull.reviews;
  posting.host.requests.length = 0;

  await post(scene, await scene.plan({ summary: 'Two  findings at `1234abcdef`.' }));
  expect(posting.host.requests).toEqual([]);

  await post(scene, await scene.plan({ summary: 'None.', findings: [findingAt('a.txt', 2)] }));
  expect(writes().map(({ method }) => method)).toEqual(['PUT', 'POST']);
  expect(first!.body).toMatch(/^None\.\n\n<!-- longhaul-run:/);
  expect(scene.pull.reviews.length).toBe(2);
  expect(scene.pull.reviews[1]!.body).toMatch(/^<!-- longhaul-run:[0-9a-f-]{36}:0 -->$/);
});

test('a check is one for a run and a head, with all its annotations once, whatever fails', async () => {
  const scene = await posting.open({ 'a.txt': lines(130) });
  const runId = await scene.plan({ findings: many(120) });
  const { headSha } = scene.pull;

  failOnce('POST /repos/{owner}/{repo}/check-runs', { after: 502 });
  await untilDone(scene, (deps) => openCheck(deps, { runId }));
  failOnce('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', { drop: true });
  await untilDone(scene, (deps) => concludeCheck(deps, { runId }));
  await untilDone(scene, (deps) => concludeCheck(deps, { runId }));

  const { checks } = scene.scene.repository;
  expect(checks).toMatchObject([{ externalId: runId, headSha, status: 'completed', conclusion: 'neutral', title: 'Reviewed' }]);
  expect(checks[0]!.annotations.map(({ start_line: line }) => line)).toEqual(many(120).map(({ saidLine }) => saidLine));
});

test('a review with up to 30 comments costs one review and three requests for its check', async () => {
  const scene = await posting.open({ 'a.txt': lines(40) });
  const runId = await scene.plan({ findings: many(30) });

  await posting.act(scene.tenant, (deps) => openCheck(deps, { runId }));
  await posting.act(scene.tenant, (deps) => postReview(deps, { runId }));
  await posting.act(scene.tenant, (deps) => concludeCheck(deps, { runId }));

  expect(writes('/reviews').length).toBe(1);
  expect(posting.host.requests.filter(({ route }) => route.includes('check-runs')).length).toBe(3);
  expect(posting.host.requests.filter(({ route }) => route.includes('graphql')).length).toBe(0);
});

test('what is superseded is cancelled, and what was never shown stays so', async () => {
  const scene = await posting.open({ 'a.txt': lines(9) });
  const [shown, unseen] = [await scene.plan({ findings: many(2) }), await scene.plan({})];

  await posting.act(scene.tenant, (deps) => openCheck(deps, { runId: shown }));
  await posting.act(scene.tenant, (deps) => concludeCheck(deps, { runId: shown, conclusion: 'cancelled' }));
  await posting.sql("delete from review_answers where stage = 'plan' and run_id = ?", [unseen]);
  await posting.act(scene.tenant, (deps) => concludeCheck(deps, { runId: unseen, conclusion: 'cancelled' }));

  expect(scene.scene.repository.checks).toMatchObject([
    { externalId: shown, conclusion: 'cancelled', title: 'Superseded by a newer head', annotations: [] },
  ]);
});

test('of what is fixed the thread gets one reply and is resolved; back again it is reopened; outdated it is folded', async () => {
  const scene = await posting.open({ 'a.txt': lines(20) });
  const findings = [findingAt('a.txt', 1), findingAt('a.txt', 2), findingAt('a.txt', 3)];
  await post(scene, await scene.plan({ findings }));
  const kept = await posting.sql<{ id: string }>(
    'select f.id from review_findings f join review_pull_requests p on p.id = f.pull_request_id where p.binding_id = ? order by f.start_line',
    [scene.bindingId],
  );
  const ids = kept.map(({ id }) => id);
  const settle = async (conclusion: object) => {
    const runId = await scene.plan({ conclusion });
    await untilDone(scene, (deps) => settleThreads(deps, { runId }));
    await untilDone(scene, (deps) => settleThreads(deps, { runId }));
  };

  failOnce('POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies', { after: 502 });
  await settle({ fixed: [ids[0]!], outdated: [ids[1]!] });
  const [first, second, third] = scene.pull.comments;
  expect(scene.pull.comments.filter(({ inReplyTo }) => inReplyTo !== null)).toMatchObject([
    { inReplyTo: first!.id, body: expect.stringMatching(/^Fixed at `/) },
  ]);
  expect([first, second, third].map((each) => [each!.thread.isResolved, each!.minimized])).toEqual([
    [true, null],
    [false, 'OUTDATED'],
    [false, null],
  ]);

  await settle({ back: [findings[0]!.fingerprint] });
  expect(first!.thread.isResolved).toBe(false);
  expect(scene.pull.comments.length).toBe(4);
});

test('a thread that the host does not let be changed fails nothing', async () => {
  const scene = await posting.open({ 'a.txt': lines(20) });
  await post(scene, await scene.plan({ findings: [findingAt('a.txt', 1)] }));
  const [{ id } = { id: '' }] = await posting.sql<{ id: string }>('select id from review_findings order by id desc limit 1');
  const runId = await scene.plan({ conclusion: { fixed: [id] } });
  posting.host.onRequest = ({ route, body }) =>
    route === 'POST /graphql' && String(body['query']).startsWith('mutation') ? { before: 403 } : null;

  await untilDone(scene, (deps) => settleThreads(deps, { runId }));

  expect(scene.pull.comments.map(({ inReplyTo }) => inReplyTo !== null)).toEqual([false, true]);
});

test('a reply whose answer is lost stands there once, in the conversation, too', async () => {
  const scene = await posting.open({ 'a.txt': lines(9) });
  const ownerId = await scene.plan({});
  const { pull, tenant, bindingId } = scene;
  failOnce('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', { drop: true });

  await untilDone(scene, async (deps) => {
    const run = await readAsSystem(deps, (tx) => readReviewRun(tx, ownerId));
    const client = await openRepository(deps, run!);
    return postReply(deps, {
      place: tenant,
      ownerId,
      ordinal: 0,
      client,
      pullNumber: pull.number,
      inReplyTo: null,
      text: `See ${bindingId}.`,
    });
  });

  expect(pull.issueComments.map(({ body }) => body)).toEqual([expect.stringContaining(`See ${bindingId}.`)]);
});

test('a lost ledger is read back from what our App has written, and from nobody else', async () => {
  const scene = await posting.open({ 'a.txt': lines(20), 'b.txt': 'b\n' });
  const { pull, bindingId } = scene;
  const findings = [
    findingAt('a.txt', 1, { title: 'One *of* them', severity: 'low', category: 'data_loss' }),
    findingAt('a.txt', 2),
    findingAt('a.txt', 3),
    findingAt('b.txt', null),
  ];
  await post(scene, await scene.plan({ findings }));
  const [, second, third] = pull.comments;
  Object.assign(second!.thread, { isResolved: true, resolvedBy: 'ada' });
  Object.assign(third!.thread, { isResolved: true, resolvedBy: 'reviewer' });
  const forged = {
    ...pull.comments[0]!,
    id: 1,
    author: personOf('mallory'),
    body: `**high · bug: x**\n\n${findingMarker(bindingId, 'f'.repeat(64))}`,
  };
  pull.comments.unshift(forged);
  const summary = await posting.sql<{ id: number }>(
    'select summary_review_id::float8 as id from review_pull_requests where binding_id = ?',
    [bindingId],
  );
  await posting.sql('delete from review_findings where pull_request_id in (select id from review_pull_requests where binding_id = ?)', [
    bindingId,
  ]);
  await posting.sql('update review_pull_requests set summary_review_id = null, summary_sha256 = null where binding_id = ?', [bindingId]);

  const change = gitIn(scene.scene.repository.folder, 'diff', 'main', pull.headSha);
  const patches = parsePatch(`${change}\n`);
  const runId = await scene.plan({});
  const rebuild = () =>
    posting.act(scene.tenant, async (deps) => {
      const run = await readAsSystem(deps, (tx) => readReviewRun(tx, runId));
      return rebuildLedger(deps, { run: run!, client: await openRepository(deps, run!), headSha: pull.headSha, patches });
    });
  expect([await rebuild(), await rebuild()]).toEqual([4, 0]);

  const kept = await posting.sql<Record<string, unknown>>(
    'select fingerprint, state, severity, category, title, path, start_line, placement, evidence from review_findings where first_run_id = ? order by path, start_line, placement desc',
    [runId],
  );
  expect(kept.map(({ fingerprint }) => fingerprint).toSorted()).toEqual(findings.map(({ fingerprint }) => fingerprint).toSorted());
  expect(kept.map(({ state, placement }) => [state, placement])).toEqual([
    ['open', 'inline'],
    ['dismissed', 'inline'],
    ['fixed', 'inline'],
    ['open', 'file'],
  ]);
  expect(kept[0]).toMatchObject({ title: 'One *of* them', severity: 'low', category: 'data_loss', start_line: 1, evidence: 'line 1' });
  expect(await posting.sql('select summary_review_id::float8 as id from review_pull_requests where binding_id = ?', [bindingId])).toEqual(
    summary,
  );
});
