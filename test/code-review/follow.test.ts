import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { applyBinding } from '../../domain/code-review/apply-binding.ts';
import { applyEvents, openReviewRun } from '../../domain/code-review/apply-events.ts';
import { readCommandState } from '../../db/code-review/posts/command-state.ts';
import { obeyCommand, refuseCommand } from '../../domain/code-review/obey-command.ts';
import { deliverEvent, makeHostHook, shaOf, toldPull, toldRepository } from '../api/code-review/github-deliveries.ts';
import { plantBinding, type PlantedBinding } from '../api/code-review/review-rows.ts';
import { sqlOf } from '../api/triggers/hook-calls.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { inWorkspace } from '../support/calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const sql = <T>(text: string, params: readonly unknown[] = []) => sqlOf(world)<T>(text, params);
const currency = 'USD';
let repos = 50;

/** A bound repository with its reviewer, and ways to tell of its pull request 7 and to follow it. */
async function following(given: PlantedBinding = {}) {
  const repo = toldRepository(++repos, repos + 1_000);
  const scene = await makeHostHook(world);
  const { tenant } = scene;
  const reviewer = await makeAgent(world, tenant.tokens.admin);
  const ids = { installation_id: repo.installation.id, repo_id: repo.repository.id, reviewer_agent_id: reviewer.id };
  const bindingId = await plantBinding(world, tenant, { ...ids, ...given });
  const input = { bindingId, pullNumber: 7 };
  const inTx = <R>(work: Parameters<typeof inWorkspace<R>>[2]) => inWorkspace(world.api.db, tenant, work);

  return {
    tenant,
    bindingId,
    reviewer,
    inTx,
    pull: (action: string, more: Readonly<Record<string, unknown>> = {}, beside: object = {}) =>
      deliverEvent(world, scene, { event: 'pull_request', action, facts: { ...repo, more: { ...toldPull(repo, more), ...beside } } }),
    event: (event: string, action: string, more: object, sender?: string) =>
      deliverEvent(world, scene, {
        event,
        action,
        facts: { ...repo, ...(sender ? { sender } : {}), more: { ...toldPull(repo), ...more } },
      }),
    comment: (action: string, body: string, id = 41, sender = 'ada') =>
      deliverEvent(world, scene, {
        event: 'issue_comment',
        action,
        facts: { ...repo, sender, more: { issue: { number: 7, pull_request: {} }, comment: { id, body } } },
      }),
    apply: (runId: string | null = null) => inTx((tx) => applyEvents(tx, { ...input, runId, currency })),
    open: () => inTx((tx) => openReviewRun(tx, { ...input, currency })),
    row: async () => (await sql<Record<string, unknown>>('select * from review_pull_requests where binding_id = ?', [bindingId]))[0],
    runs: () =>
      sql<{
        id: string;
        status: string;
        finish_reason: string | null;
        review: Record<string, unknown>;
        review_head_sha: string;
        source: string;
      }>('select * from runs where binding_id = ? order by review_round', [bindingId]),
    commands: () =>
      sql<{ id: string; command: string; state: string; argument: string | null; reply: string | null; run_id: string | null }>(
        `select c.* from review_commands c join review_pull_requests p on p.id = c.pull_request_id where p.binding_id = ? order by c.id`,
        [bindingId],
      ),
    obey: async (commandId: string, may = true): Promise<unknown> => {
      const command = await inTx((tx) => readCommandState(tx, commandId));
      if (command === null) throw new Error('no command');
      return inTx<unknown>((tx) => (may ? obeyCommand(tx, command, { currency }) : refuseCommand(tx, command.id, 'no_permission')));
    },
    works: (runId: string) => sql("update runs set status = 'running', started_at = now() where id = ? returning id", [runId]),
    ends: (runId: string) =>
      sql("update runs set status = 'succeeded', finish_reason = 'stop', finished_at = now() where id = ? returning id", [runId]),
  };
}

test('an opened pull request is reviewed at once: one run, with its head, playbook and agent', async () => {
  const { pull, apply, open, runs, reviewer, row, bindingId, tenant } = await following();
  await pull('opened');

  expect(await apply()).toEqual({ kind: 'open' });
  const runId = await open();
  const again = await open();

  expect(again).toBe(runId);
  const [run, ...others] = await runs();
  expect(others).toEqual([]);
  expect(run).toMatchObject({
    id: runId,
    source: 'code_review',
    agent_id: reviewer.id,
    status: 'queued',
    review_head_sha: shaOf('a'),
    untrusted: true,
    max_effect: 'read',
    review: {
      kind: 'review',
      pull_number: 7,
      full: false,
      post: true,
      is_automatic: true,
      has_text: false,
      command_id: null,
      finding_id: null,
    },
  });
  expect(await row()).toMatchObject({ round: 1, due_at: null, head_sha: shaOf('a') });
  expect(await apply()).toEqual({ kind: 'run', runId });
  const listed = await world.call(tenant.tokens.viewer, 'GET', `/runs?binding_id=${bindingId}`);
  expect(listed.body.items.map((one: { id: string; binding_id: string }) => [one.id, one.binding_id])).toEqual([[runId, bindingId]]);
});

test('pushes wait for each other, five minutes at most; the last head is reviewed', async () => {
  const { pull, apply, open, runs, row } = await following({ review_config: { debounce_seconds: 60 } });
  for (const letter of ['a', 'b', 'c']) await pull('synchronize', { head: { ref: 'topic', sha: shaOf(letter) } });

  const step = await apply();
  const [waits] = [step.kind === 'wait' ? step.waitMs : 0];
  const early = await open();
  await sql("update review_pull_requests set due_since = now() - interval '290 seconds' where id = ? returning id", [
    (await row())?.['id'],
  ]);
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('d') } });
  const last = await apply();
  await sql('update review_pull_requests set due_at = now() where id = ? returning id', [(await row())?.['id']]);
  await open();

  expect([step.kind, early, last.kind]).toEqual(['wait', null, 'wait']);
  expect([waits > 50_000 && waits <= 60_000, last.kind === 'wait' && last.waitMs <= 10_000]).toEqual([true, true]);
  expect((await runs()).map(({ review_head_sha: head }) => head)).toEqual([shaOf('d')]);
});

test('a newer head supersedes the review at work, and its own is due', async () => {
  const { pull, apply, open, runs, works } = await following({ review_config: { debounce_seconds: 0 } });
  await pull('opened');
  await apply();
  const first = (await open()) ?? '';
  await works(first);
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('b') } });

  const step = await apply(first);

  expect(step.kind).toBe('wait');
  const [run] = await runs();
  expect(run).toMatchObject({ status: 'cancelling', is_superseded: true });
  const [cancel] = await sql<{ kind: string }>("select kind from outbox where target = ? and kind = 'workflow.cancel'", [`run:${first}`]);
  expect(cancel).toEqual({ kind: 'workflow.cancel' });
});

test('a review that a person asked for is made of the newer head; a question does not answer what is due', async () => {
  const { pull, comment, apply, commands, obey, runs, works, row, tenant, bindingId } = await following({
    enabled_events: ['command.ask'],
  });
  await pull('opened', { draft: true });
  await apply();
  await world.call(tenant.tokens.member, 'POST', '/runs', {
    body: { review: { binding_id: bindingId, pull_number: 7, full: true, instructions: 'Mind the cache.' } },
  });
  const [first] = await runs();
  await works(first?.id ?? '');
  await pull('synchronize', { draft: true, head: { ref: 'topic', sha: shaOf('b') } });
  await apply(first?.id);
  const made = await runs();
  await sql('update review_pull_requests set due_at = now() where id = ? returning id', [(await row())?.['id']]);
  await comment('created', '/ask why');
  await apply(first?.id);
  await obey((await commands())[0]?.id ?? '');

  expect(made.map(({ status, review_head_sha: head, review }) => [status, head, review['full'], review['has_text']])).toEqual([
    ['cancelling', shaOf('a'), true, true],
    ['queued', shaOf('b'), true, true],
  ]);
  const [{ text = '' } = {}] = await sql<{ text: string }>("select input ->> 'text' as text from runs where id = ?", [made[1]?.id]);
  expect(text).toBe('Mind the cache.');
  expect((await row())?.['due_at']).not.toBeNull();
});

test('an event that comes too late changes nothing: an older head, and a push before the close', async () => {
  const { pull, apply, row } = await following();
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('b') }, updated_at: '2026-11-30T12:05:00Z' });
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('a') }, updated_at: '2026-11-30T12:00:00Z' });
  await apply();
  const before = await row();
  await pull('closed', { state: 'closed', head: { ref: 'topic', sha: shaOf('b') }, updated_at: '2026-11-30T12:10:00Z' });
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('c') }, updated_at: '2026-11-30T12:09:00Z' });
  const step = await apply();

  expect(before).toMatchObject({ head_sha: shaOf('b') });
  expect(await row()).toMatchObject({ state: 'closed', head_sha: shaOf('b') });
  expect(step).toEqual({ kind: 'reactions' });
});

test('an older event changes nothing after a newer one was applied', async () => {
  const { pull, apply, row } = await following();
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('b') }, updated_at: '2026-11-30T12:05:00Z' });
  await apply();
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('a') }, updated_at: '2026-11-30T12:00:00Z' });
  await apply();

  expect(await row()).toMatchObject({ head_sha: shaOf('b') });
});

test('closing cancels what is at work and in line; reopening reviews again', async () => {
  const { pull, apply, open, runs, works, tenant, bindingId } = await following();
  await pull('opened');
  await apply();
  const first = (await open()) ?? '';
  await works(first);
  await world.call(tenant.tokens.member, 'POST', '/runs', { body: { review: { binding_id: bindingId, pull_number: 7 } } });
  await pull('closed', { state: 'closed', updated_at: '2026-11-30T12:10:00Z' });
  await apply(first);

  expect((await runs()).map(({ status, finish_reason: reason }) => [status, reason])).toEqual([
    ['cancelling', null],
    ['cancelled', 'cancelled'],
  ]);
  await sql("update runs set status = 'cancelled', finish_reason = 'cancelled', finished_at = now() where id = ? returning id", [first]);
  expect(await apply()).toEqual({ kind: 'reactions' });
  await pull('reopened', { updated_at: '2026-11-30T12:20:00Z' });
  expect(await apply()).toEqual({ kind: 'open' });
});

const quiet: readonly (readonly [what: string, action: string, more: Record<string, unknown>, given: PlantedBinding, beside: object])[] = [
  ['a draft', 'opened', { draft: true }, {}, {}],
  ['a label, unless it is enabled', 'labeled', {}, {}, {}],
  ['an event that is switched off', 'opened', {}, { enabled_events: ['command.review'] }, {}],
  ['a review that is asked of a person', 'review_requested', {}, {}, { requested_reviewer: { login: 'ada', type: 'User' } }],
];

test.each(quiet)('nothing is reviewed for %s', async (_what, action, more, given, beside) => {
  const { pull, apply, runs } = await following(given);
  await pull(action, more, beside);

  expect([await apply(), await runs()]).toEqual([{ kind: 'end' }, []]);
});

test('what makes a pull request reviewable starts its review: no draft any more, another base, a label, a request', async () => {
  const { pull, apply, open, row, runs, ends } = await following({
    enabled_events: ['pull_request.ready_for_review', 'pull_request.edited', 'pull_request.labeled', 'pull_request.review_requested'],
  });
  await pull('opened', { draft: true });
  await apply();
  await pull('ready_for_review');
  expect(await apply()).toEqual({ kind: 'open' });
  await ends((await open()) ?? '');
  await sql('update review_pull_requests set last_head_sha = head_sha where id = ? returning id', [(await row())?.['id']]);

  await pull('edited', { title: 'Another title' }, { changes: { title: { from: 'A change' } } });
  const judged = await apply();
  await pull('edited', { base: { ref: 'release', repo: {} } }, { changes: { base: { ref: { from: 'main' } } } });
  const rebased = await apply();
  await open();

  expect([judged, rebased]).toEqual([{ kind: 'end' }, { kind: 'open' }]);
  expect((await runs()).map(({ review }) => review['full'])).toEqual([false, true]);
});

test('a command is taken once: an edit beside it starts nothing, another text does, a deletion withdraws it', async () => {
  const { comment, apply, commands } = await following();
  await comment('created', '/review\nplease');
  await comment('edited', '/review\nplease, now');
  await apply();
  const once = await commands();
  await comment('edited', '/review full');
  await apply();
  const twice = await commands();
  await comment('deleted', '/review full');
  await apply();

  expect(once.map(({ command, state, argument }) => [command, state, argument])).toEqual([['review', 'queued', null]]);
  expect(twice.map(({ state, argument }) => [state, argument])).toEqual([
    ['cancelled', null],
    ['queued', 'full'],
  ]);
  expect((await commands()).map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
});

test('commands of bots and of whoever may not write are silent; those switched off are none', async () => {
  const { comment, apply, commands, obey, runs } = await following({ enabled_events: ['command.review'] });
  await comment('created', '/review', 1, 'helper[bot]');
  await comment('created', '/ask why', 2);
  await comment('created', '/review', 3, 'stranger');
  const step = await apply();

  const [command] = await commands();
  expect([step, (await commands()).length]).toEqual([{ kind: 'command', commandId: command?.id }, 1]);
  await obey(command?.id ?? '', false);
  expect([(await commands())[0]?.state, await apply(), await runs()]).toEqual(['refused', { kind: 'end' }, []]);
});

test('/review and /ask start runs that a person asked for, also of a draft; a repeat starts none', async () => {
  const { pull, comment, apply, commands, obey, runs } = await following();
  await pull('opened', { draft: true });
  await comment('created', '/review full', 1);
  await comment('created', '/ask Is this right?\nI doubt it.', 2);
  await apply();
  const [review, ask] = await commands();
  for (const one of [review, ask, review]) await obey(one?.id ?? '');

  const made = await runs();
  expect(made.map(({ review: asked }) => [asked['kind'], asked['full'], asked['is_automatic'], asked['has_text']])).toEqual([
    ['review', true, false, false],
    ['ask', false, false, true],
  ]);
  expect((await commands()).map(({ state, run_id }) => [state, run_id])).toEqual(made.map(({ id }) => ['accepted', id]));
  const [{ text = '' } = {}] = await sql<{ text: string }>("select input ->> 'text' as text from runs where id = ?", [made[1]?.id]);
  expect(text).toBe('Is this right?\nI doubt it.');
});

test('/pause keeps pushes from being reviewed until /resume; /config and /help answer', async () => {
  const { pull, comment, apply, commands, obey } = await following({ review_config: { debounce_seconds: 0 } });
  await pull('opened', { draft: true });
  for (const [at, text] of ['/pause', '/help', '/config'].entries()) await comment('created', text, at + 1);
  await apply();
  for (const { id } of await commands()) await obey(id);
  await pull('ready_for_review');
  const paused = await apply();
  await comment('created', '/resume', 9);
  await apply();
  await obey((await commands()).at(-1)?.id ?? '');
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('b') } });

  expect([paused.kind, (await apply()).kind]).toEqual(['end', 'open']);
  const [pause, help, config] = await commands();
  expect([pause?.reply, help?.reply?.includes('/dismiss'), config?.reply?.includes('"debounce_seconds": 0')]).toEqual([null, true, true]);
});

test('/fix without an editor is answered with the reason', async () => {
  const { comment, apply, commands, obey, runs } = await following();
  await comment('created', '/fix');
  await apply();
  const obeyed = await obey((await commands())[0]?.id ?? '');

  expect(obeyed).toEqual({ isAccepted: true, hasReply: true, threads: false });
  expect([(await commands())[0]?.reply, await runs()]).toEqual(['This cannot be done now: The binding has no editor agent.', []]);
});

test('a suspended installation stops reviews and is told; taken back, they go on', async () => {
  const { pull, event, apply, open, runs, works, bindingId, inTx, tenant } = await following();
  await pull('opened');
  await apply();
  const first = (await open()) ?? '';
  await works(first);
  await event('installation', 'suspend', {});

  await inTx((tx) => applyBinding(tx, bindingId));
  await apply(first);
  const refused = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { review: { binding_id: bindingId, pull_number: 7 } } });

  expect((await runs())[0]?.status).toBe('cancelling');
  expect([refused.status, refused.body.context?.reason]).toEqual([409, 'binding_inactive']);
  const told = await sql<{ payload: object }>('select payload from events where workspace_id = ? and event_kind = ?', [
    tenant.workspaceId,
    'review.installation_changed',
  ]);
  expect(told.map(({ payload }) => payload)).toEqual([{ binding_id: bindingId, installation_state: 'suspended' }]);
  const woken = await sql('select id from outbox where target = ? and dedupe_key like ?', [`review:${bindingId}:7`, '%:stop:%']);
  expect(woken).toHaveLength(1);

  await event('installation', 'unsuspend', {});
  await inTx((tx) => applyBinding(tx, bindingId));
  const [{ state = '' } = {}] = await sql<{ state: string }>('select installation_state as state from repo_bindings where id = ?', [
    bindingId,
  ]);
  expect(state).toBe('ok');
});

test('a renamed repository keeps its binding under the new name', async () => {
  const { event, bindingId, inTx, tenant } = await following();
  await event('repository', 'renamed', { repository: { id: repos + 1_000, full_name: 'Octo/New-Name' } });

  await inTx((tx) => applyBinding(tx, bindingId));

  const read = await world.call(tenant.tokens.viewer, 'GET', '/repo-bindings?repo_full_name=octo/new-name');
  expect(read.body.items.map((one: { repo_full_name: string }) => one.repo_full_name)).toEqual(['Octo/New-Name']);
});

test('a deleted binding cancels its reviews, and later deliveries start nothing', async () => {
  const { pull, apply, open, runs, works, bindingId, inTx, tenant } = await following();
  await pull('opened');
  await apply();
  const first = (await open()) ?? '';
  await works(first);
  await world.call(tenant.tokens.admin, 'DELETE', `/repo-bindings/${bindingId}`);

  await inTx((tx) => applyBinding(tx, bindingId));
  await apply(first);
  await pull('synchronize', { head: { ref: 'topic', sha: shaOf('b') } });

  expect((await runs()).map(({ status }) => status)).toEqual(['cancelling']);
  expect(await sql("select id from review_events where binding_id = ? and state = 'queued'", [bindingId])).toEqual([]);
  const stop = await sql('select id from outbox where target = ?', [`binding-stop:${bindingId}`]);
  expect(stop).toHaveLength(1);
});

test('a person’s word about a thread reaches the ledger, our own App’s does not', async () => {
  const { pull, event, apply, open, row, bindingId, tenant } = await following();
  await pull('opened');
  await apply();
  const runId = await open();
  const pullId = (await row())?.['id'];
  const finding = newId();
  await sql(
    `insert into review_findings (id, organization_id, workspace_id, pull_request_id, fingerprint, category, severity, confidence, path, side, start_line, end_line, title, scenario,
       evidence, placement, comment_id, first_run_id, first_head_sha, last_head_sha)
     values (?, ?, ?, ?, 'f', 'bug', 'high', 0.9, 'a.ts', 'RIGHT', 1, 1, 't', 's', 'e', 'inline', 77, ?, ?, ?) returning id`,
    [finding, tenant.organizationId, tenant.workspaceId, pullId, runId, shaOf('a'), shaOf('a')],
  );
  const stateAfter = async (action: string, sender: string) => {
    await event('pull_request_review_thread', action, { thread: { node_id: 'T', comments: [{ id: 77 }] } }, sender);
    await apply();
    return (await sql<{ state: string }>('select state from review_findings where id = ?', [finding]))[0]?.state;
  };

  expect([
    await stateAfter('resolved', 'reviewer[bot]'),
    await stateAfter('resolved', 'ada'),
    await stateAfter('unresolved', 'ada'),
  ]).toEqual(['open', 'dismissed', 'open']);
  expect(bindingId).toBeTruthy();
});
