import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { hasStrictIsolation } from '../../ports/sandbox/sandbox.ts';
import { gitIn } from '../fakes/github/repositories.ts';
import { forkOf, openPull, pushTo } from '../fakes/github/scene.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { until } from '../support/temporal.ts';
import { command, openHook } from './host-events.ts';
import { edited, found, openReviews, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;

const lines = (count: number, name: string) => Array.from({ length: count }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const files = {
  'README.md': '# Hello\n',
  'src/a.ts': lines(60, 'a'),
  'check.sh': 'grep -q "a10 = 10;" src/a.ts\n',
  '.github/x.yml': 'on: push\n',
};
const wrong = lines(60, 'a').replace('const a10 = 10;', 'const a10 = 11;');
const repair = { path: 'src/a.ts', find: 'const a10 = 11;', replace: 'const a10 = 10;' };

beforeAll(async () => {
  world = await openReviews({ files });
  await openHook(world);
});
beforeEach(async () => {
  world.answers = {
    pass: (prompt) =>
      prompt.includes('const a10 = 11;') ? found({ path: 'src/a.ts', line: 10, quote: 'const a10 = 11;', title: 'One too many' }) : found(),
  };
  world.host.onRequest = null;
  world.host.onServed = null;
  world.host.onPush = null;
  await setEditor({ mode: 'push' });
});
afterAll(() => world?.stop());

async function setEditor(editor: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const changed = await world.stack.request('PATCH', `/repo-bindings/${world.bindingId}`, { body: { editor_config: editor, ...more } });
  expect([changed.status, changed.body]).toEqual([200, expect.anything()]);
}

let branches = 0;

/** A pull request with one finding in the ledger. */
async function reviewed(options: Partial<Parameters<typeof openPull>[1]> = {}): Promise<FakePull> {
  const pull = openPull(world.scene.repository, { branch: `topic-${++branches}`, files: { 'src/a.ts': wrong }, ...options });
  const run = await world.ended(await world.review(pull.number));
  expect(run).toMatchObject({ status: 'succeeded', output: { json: { verdict: 'findings' } } });
  return pull;
}

/** `/fix` as a comment of the pull request; the run that it starts, ended. */
async function fix(pull: FakePull, during: () => void | Promise<void> = () => undefined) {
  await command(world, pull, '/fix');
  let runId = '';
  await until(async () => {
    const [run] = await world.sql<{ id: string }>(
      `select r.id from runs r join review_pull_requests p on p.id = r.review_pull_request_id where p.pull_number = ? and p.binding_id = ? and r.review ->> 'kind' = 'fix'`,
      [pull.number, world.bindingId],
    );
    runId = run?.id ?? '';
    return runId !== '';
  });
  await during();
  return { ...(await world.ended(runId)), id: runId };
}

const headOf = (pull: FakePull) => gitIn((pull.headRepository ?? world.scene.repository).folder, 'rev-parse', `refs/heads/${pull.headRef}`);
const fileAt = (pull: FakePull, path: string) =>
  gitIn((pull.headRepository ?? world.scene.repository).folder, 'show', `refs/heads/${pull.headRef}:${path}`);
const repliesTo = (pull: FakePull) => pull.issueComments.filter(({ body }) => body.includes('longhaul-run:'));
const suggestionsOn = (pull: FakePull) => pull.comments.filter(({ body }) => body.includes('```suggestion'));

test('/fix pushes one commit onto the head, which names its run, and says so', async () => {
  const pull = await reviewed();
  world.answers['edit'] = (prompt) => {
    expect(prompt).toContain('One too many');
    return prompt.includes('File check.sh') ? edited([repair], 'The constant is ten.') : edited([], '', ['check.sh']);
  };
  const before = headOf(pull);
  const refs = gitIn(world.scene.repository.folder, 'for-each-ref', '--format=%(refname)');
  const run = await fix(pull);

  expect(run).toMatchObject({ status: 'succeeded', error: null });
  const head = headOf(pull);
  expect(run.output?.json).toMatchObject({ kind: 'fix', posted: { commit_sha: head, branch: pull.headRef } });
  expect(gitIn(world.scene.repository.folder, 'rev-parse', `${head}^`)).toBe(before);
  expect(gitIn(world.scene.repository.folder, 'diff', '--numstat', before, head)).toBe('1\t1\tsrc/a.ts');
  expect(gitIn(world.scene.repository.folder, 'log', '-1', '--format=%(trailers:key=Longhaul-Run,valueonly)', head).trim()).toBe(run.id);
  expect(gitIn(world.scene.repository.folder, 'for-each-ref', '--format=%(refname)')).toBe(refs);
  expect(repliesTo(pull).map(({ body }) => body)).toEqual([expect.stringContaining(`Pushed ${head.slice(0, 12)}`)]);
  expect(world.host.mistakes).toEqual([]);
});

test('a push in between is never overwritten: the repair follows it once', async () => {
  const pull = await reviewed();
  let pushed = '';
  world.answers['edit'] = () => {
    if (pushed === '') pushed = pushTo(world.scene.repository, pull, { files: { 'between.txt': 'somebody else\n' } });
    return edited([repair]);
  };
  const run = await fix(pull);
  expect(run.output?.json?.posted.commit_sha).toBe(headOf(pull));
  expect(gitIn(world.scene.repository.folder, 'rev-parse', `${headOf(pull)}^`)).toBe(pushed);
  expect(fileAt(pull, 'between.txt')).toBe('somebody else');
  expect(repliesTo(pull)).toHaveLength(1);
});

test('a head that moves again is left alone, and the reply says so', async () => {
  const pull = await reviewed();
  let pushes = 0;
  world.answers['edit'] = () => {
    pushTo(world.scene.repository, pull, { files: { 'between.txt': `push ${++pushes}\n` } });
    return edited([repair]);
  };
  const run = await fix(pull);
  expect(pushes).toBe(2);
  expect(run.output?.json?.posted.commit_sha).toBeNull();
  expect(fileAt(pull, 'src/a.ts')).toContain('const a10 = 11;');
  expect(repliesTo(pull).map(({ body }) => body)).toEqual([expect.stringContaining('head moved')]);
});

test('a worker killed when the host has taken the push: the same commit, once, and one reply', async () => {
  const pull = await reviewed();
  world.answers['edit'] = () => edited([repair]);
  const before = headOf(pull);
  let killed: Promise<unknown> | null = null;
  world.host.onPush = () => {
    killed ??= world.stack.kill('worker-bulk');
  };
  const run = await fix(pull, async () => {
    await until(() => Promise.resolve(killed !== null));
    await killed;
    await world.stack.start('worker-bulk');
  });
  expect(run.status).toBe('succeeded');
  expect(gitIn(world.scene.repository.folder, 'rev-list', '--count', `${before}..${headOf(pull)}`)).toBe('1');
  expect(run.output?.json?.posted.commit_sha).toBe(headOf(pull));
  expect(repliesTo(pull)).toHaveLength(1);
});

test('suggestions stand on their lines; nothing is pushed', async () => {
  await setEditor({ mode: 'suggest' });
  const pull = await reviewed();
  world.answers['edit'] = () => edited([repair, { path: 'README.md', find: '# Hello', replace: '# Hallo' }]);
  const before = headOf(pull);
  const run = await fix(pull);
  expect(headOf(pull)).toBe(before);
  expect(run.output?.json?.posted).toMatchObject({ commit_sha: null, branch: null });
  expect(suggestionsOn(pull)).toEqual([
    expect.objectContaining({ path: 'src/a.ts', line: 10, body: expect.stringContaining('const a10 = 10;') }),
  ]);
  // A line that is not in the diff takes no comment.
  expect(repliesTo(pull)[0]?.body).toContain('# Hallo');
});

test('protected files are not pushed, in whatever spelling; they are suggested', async () => {
  const pull = await reviewed();
  world.answers['edit'] = () => edited([repair, { path: '.github/x.yml', find: 'on: push', replace: 'on: [push]' }]);
  const before = headOf(pull);
  const run = await fix(pull);
  expect(headOf(pull)).toBe(before);
  expect(run.output?.text).toContain('.github/x.yml');
  expect(suggestionsOn(pull)).toHaveLength(1);
});

test('a fork is not pushed to, unless binding and author let it', async () => {
  const fork = forkOf(world.host, world.scene.repository, 'ada');
  const pull = await reviewed({ from: fork });
  world.answers['edit'] = () => edited([repair]);
  const before = headOf(pull);
  const run = await fix(pull);
  expect(headOf(pull)).toBe(before);
  expect(run.output?.text).toContain('fork');
  expect(suggestionsOn(pull)).toHaveLength(1);
});

test('rounds are bounded: the editor suggests once it has pushed as often as it may', async () => {
  await setEditor({ mode: 'push', max_rounds: 0 });
  const pull = await reviewed();
  world.answers['edit'] = () => edited([repair]);
  const before = headOf(pull);
  await fix(pull);
  expect(headOf(pull)).toBe(before);
  expect(repliesTo(pull)[0]?.body).toContain('has reached its limit of pushes');
});

test('a branch of its own and a pull request onto the head', async () => {
  await setEditor({ mode: 'branch' });
  const pull = await reviewed();
  world.answers['edit'] = () => edited([repair]);
  const before = headOf(pull);
  const run = await fix(pull);
  const branch = `longhaul/${pull.number}-${before.slice(0, 7)}`;
  expect(headOf(pull)).toBe(before);
  expect(run.output?.json?.posted).toMatchObject({
    branch,
    commit_sha: gitIn(world.scene.repository.folder, 'rev-parse', `refs/heads/${branch}`),
  });
  const opened = [...world.scene.repository.pulls.values()].find(({ headRef }) => headRef === branch);
  expect(opened).toMatchObject({ baseRef: pull.headRef, state: 'open' });
  expect(repliesTo(pull)[0]?.body).toContain(`#${opened?.number}`);
});

((await hasStrictIsolation()) ? test : test.skip)(
  'what must pass is run before the push, without a token; the model hears what failed',
  async () => {
    const tool = await world.stack.request('POST', '/tools', {
      body: {
        slug: 'checks',
        kind: 'code_exec',
        description: 'Runs checks.',
        config: { language: 'shell', isolation: 'strict', memory_mb: 128, cpu_ms: 20_000 },
      },
    });
    expect([tool.status, tool.body]).toEqual([201, expect.anything()]);
    const { id } = tool.body as { id: string };
    await setEditor({ mode: 'push', test_commands: ['env; ls -a', 'sh check.sh'] }, { workspace_config: { sandbox_tool_id: id } });
    const pull = await reviewed();
    const prompts: string[] = [];
    world.answers['edit'] = (prompt) => {
      prompts.push(prompt);
      return edited([{ ...repair, replace: prompts.length === 1 ? 'const a10 = 12;' : 'const a10 = 10;' }]);
    };
    const run = await fix(pull);
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toContain('sh check.sh');
    expect(prompts[1]).not.toMatch(/ghs_|x-access-token|GIT_/);
    expect(run.output?.json?.posted.commit_sha).toBe(headOf(pull));
    expect(fileAt(pull, 'src/a.ts')).toContain('const a10 = 10;');
    await setEditor({ mode: 'push' }, { workspace_config: {} });
  },
);
