import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { openPull, pushTo } from '../fakes/github/scene.ts';
import type { FakePull } from '../fakes/github/state.ts';
import { tablesHolding } from '../support/canary.ts';
import { found, openReviews, voted, type ReviewWorld } from './review-world.ts';

let world: ReviewWorld;
let mirrors: string;
let pulls = 0;
const runIds: string[] = [];

const lines = (name: string) => Array.from({ length: 60 }, (_, at) => `const ${name}${at + 1} = ${at + 1};\n`).join('');
const wrong = (line: number, text = `wrong${line}`) => lines('a').replace(`const a${line} = ${line};`, `const a${line} = ${text};`);

beforeAll(async () => {
  mirrors = await mkdtemp(join(tmpdir(), 'lh-review-mirrors-'));
  world = await openReviews({ files: { 'src/a.ts': lines('a') }, adapt: (env) => ({ ...env, REVIEW_MIRROR_DIR: mirrors }) });
});
beforeEach(() => {
  world.answers = {};
});
afterAll(async () => {
  expect(world?.host.mistakes).toEqual([]);
  await world?.stop();
  await rm(mirrors, { recursive: true, force: true });
});

const finds = (line: number) => () => found({ path: 'src/a.ts', line, quote: `const a${line} = wrong${line};`, title: 'It goes wrong' });

async function review(pull: FakePull) {
  const runId = await world.review(pull.number);
  runIds.push(runId);
  return world.ended(runId);
}

function open(line: number): FakePull {
  pulls += 1;
  world.answers.pass = finds(line);
  return openPull(world.scene.repository, { branch: `w${pulls}`, files: { 'src/a.ts': wrong(line) } });
}

test('with a clock that is off and a token that ends midway a review succeeds', async () => {
  const pull = open(10);
  world.host.state.clockShiftMs = -180_000;
  const pass = world.answers.pass!;
  world.answers.pass = (prompt) => {
    world.host.state.tokens.clear();
    return pass(prompt);
  };

  const run = await review(pull);
  world.host.state.clockShiftMs = 0;

  expect(run).toMatchObject({ status: 'succeeded', error: null });
  expect(pull.comments.length).toBe(1);
});

test('repaired code: one reply, the thread resolved; broken again: the same thread opened again, no second comment', async () => {
  const pull = open(20);
  await review(pull);
  const [comment] = pull.comments;

  pushTo(world.scene.repository, pull, { files: { 'src/a.ts': wrong(20, '20 + 0') } });
  world.answers = { verify: () => voted(false) };
  const repaired = await review(pull);
  expect(repaired.output?.json).toMatchObject({ counts: { fixed: 1 }, findings: [{ state: 'fixed' }] });
  expect(comment!.thread.isResolved).toBe(true);
  expect(pull.comments.map(({ inReplyTo }) => inReplyTo)).toEqual([null, comment!.id]);

  pushTo(world.scene.repository, pull, { files: { 'src/a.ts': wrong(20) } });
  world.answers = { pass: finds(20) };
  const broken = await review(pull);
  expect(broken.output?.json).toMatchObject({ findings: [{ state: 'open', comment_id: comment!.id }] });
  expect(comment!.thread.isResolved).toBe(false);
  expect(pull.comments.length).toBe(2);
});

test('with git refused the host’s list of files takes its place', async () => {
  const pull = open(30);
  world.host.onRequest = ({ route }) => (route.startsWith('git ') ? { before: 403 } : null);

  const run = await review(pull);
  world.host.onRequest = null;

  expect(run.output?.json).toMatchObject({ verdict: 'findings', head_sha: pull.headSha });
  expect(pull.comments.map(({ line }) => line)).toEqual([30]);
});

test('no token and no key is in rows, histories, mirrors or the log of a worker', async () => {
  const secrets = [...world.host.requests.flatMap(tokensOf), world.scene.app.privateKey.split('\n')[3]!];
  expect(new Set(secrets).size).toBeGreaterThan(2);
  const histories = await Promise.all(
    runIds.map(async (runId) =>
      JSON.stringify(await world.stack.temporal.client.workflow.getHandle(workflowIds.run(runId)).fetchHistory()),
    ),
  );
  const logs = join(import.meta.dirname, '../../.longhaul/test-logs');
  const [kept, logged] = [mirrors, logs].map((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')),
  ) as [string[], string[]]; // as many as folders
  expect([kept.length > 0, logged.length > 0]).toEqual([true, true]);

  for (const secret of new Set(secrets)) {
    expect(await tablesHolding(world.stack.adminUrl, secret)).toEqual([]);
    for (const text of [...histories, ...kept, ...logged]) expect(text.includes(secret)).toBe(false);
  }
});

/** Tokens as requests carried them; git's in Basic. */
function tokensOf({ headers }: { readonly headers: { readonly authorization?: string | undefined } }): string[] {
  const [, value = ''] = (headers.authorization ?? '').split(' ');
  const text = value.startsWith('ghs_') || value.startsWith('ey') ? value : (Buffer.from(value, 'base64').toString().split(':')[1] ?? '');
  return text === '' ? [] : [text];
}
