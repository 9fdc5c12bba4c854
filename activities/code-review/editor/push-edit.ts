import { cancellationSignal } from '@temporalio/activity';

import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { EditMade, EditPushed, EditStart } from '../../../domain/code-review/editor/kept.ts';
import { recordPushArrived, recordPushLeaves } from '../../../domain/code-review/editor/pushes.ts';
import { branchOf } from '../../../domain/code-review/editor/rules.ts';
import { outputLine, outputText } from '../../../domain/code-review/pipeline/text-safety.ts';
import { GitError } from '../../../ports/git/git-error.ts';
import type { Mirror } from '../../../ports/git/mirrors.ts';
import { fetchCommit } from '../../../ports/git/pull.ts';
import { commitOfRun, pushCommit, remoteHead, type PushResult } from '../../../ports/git/push.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { openPullOnto } from '../../../ports/github/open-pull.ts';
import type { EditInput } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { runCancelled } from '../../support/failures.ts';
import { onHost } from '../host/host-failure.ts';
import { openMirror, openRepository } from '../read/open-repository.ts';
import { readHostPull } from '../read/read-pull.ts';
import { asSystemStep } from '../system-step.ts';
import { keepOf, readAttempt } from './attempt.ts';

/** Tokens that may push exist only in this activity. */
const pushing = { contents: 'write', pull_requests: 'write', metadata: 'read' } as const;

/** Pushes the commit of an attempt, if the head has not moved. A commit that has arrived already, by its trailer, is not pushed again. */
export async function pushEdit(deps: ActivityDeps, input: EditInput): Promise<'done' | 'moved'> {
  const { run, start, made, pushed } = await readAttempt(deps, input);
  if (pushed !== null) return nextOf(pushed);
  const commitSha = made?.commitSha ?? null;
  if (start === null || made === null || commitSha === null) throw runCancelled();
  return asSystemStep(deps, { runId: input.runId, step: input.step, name: 'Push the repair' }, async () => {
    const push = await onHost(() => deliver(deps, { run, start, made, commitSha, attempt: input.attempt }));
    return nextOf(await keepOf(deps, run.runId, { stage: 'pushed', ordinal: input.attempt, answer: push }));
  });
}

function nextOf({ refusal }: EditPushed): 'done' | 'moved' {
  return refusal === 'moved' ? 'moved' : 'done';
}

interface Delivery {
  readonly run: ReviewRun;
  readonly start: EditStart;
  readonly made: EditMade;
  readonly commitSha: string;
  readonly attempt: number;
}

async function deliver(deps: ActivityDeps, delivery: Delivery): Promise<EditPushed> {
  const { run, start, commitSha, attempt } = delivery;
  const signal = cancellationSignal();
  const client = await openRepository(deps, run, pushing);
  const pull = await readHostPull(client, run.pull.pullNumber, signal);
  if (!pull.isOpen) return notPushed('closed');
  const mirror = await openMirror(deps, run.binding, client, start.headRepository ?? run.binding.repoFullName);
  const push = { runId: run.runId, pullRequestId: run.pull.id, attempt, commitSha };
  await transactAsRun(deps, run.runId, (tx) => recordPushLeaves(tx, run, push));
  const arrived = start.may === 'branch' ? await toBranch(mirror, delivery, signal) : await toHead(mirror, delivery, signal);
  if (arrived.kind === 'moved') return notPushed('moved');
  if (arrived.kind === 'refused') return notPushed('push_refused', arrived.reason);
  await transactAsRun(deps, run.runId, (tx) => recordPushArrived(tx, push));
  const branch = start.may === 'branch' ? branchName(delivery) : start.headRef;
  const pullNumber = start.may === 'branch' ? await openOwnPull(client, { ...delivery, branch, signal }) : null;
  return { commitSha, branch, pullNumber, refusal: null, detail: null };
}

function notPushed(refusal: 'closed' | 'moved' | 'push_refused', detail: string | null = null): EditPushed {
  return { commitSha: null, branch: null, pullNumber: null, refusal, detail };
}

/** Pushes to the head ref, and only if it still points at the commit that was read; a commit that has arrived already is not pushed again. */
async function toHead(mirror: Mirror, { run, start, commitSha }: Delivery, signal: AbortSignal): Promise<PushResult> {
  const head = await remoteHead(mirror, start.headRef, signal);
  if (head === start.headSha)
    return refusedByHost(() => pushCommit(mirror, { branch: start.headRef, expected: head, sha: commitSha }, signal));
  // Fetches the branch itself: the host updates `refs/pull` later.
  const { clone } = run.binding.workspaceConfig;
  const isFetched = head !== null && (await fetchCommit(mirror, { sha: head, clone }, signal));
  const arrived = isFetched ? await commitOfRun(mirror, { since: start.headSha, head, runId: run.runId }, signal) : null;
  return arrived === null ? { kind: 'moved' } : { kind: 'pushed' };
}

async function toBranch(mirror: Mirror, delivery: Delivery, signal: AbortSignal): Promise<PushResult> {
  const branch = branchName(delivery);
  const there = await remoteHead(mirror, branch, signal);
  if (there === delivery.commitSha) return { kind: 'pushed' };
  if (there !== null) return { kind: 'refused', reason: `the branch ${branch} is there already` };
  return refusedByHost(() => pushCommit(mirror, { branch, expected: null, sha: delivery.commitSha }, signal));
}

function branchName({ run, start }: Delivery): string {
  return branchOf(run.binding.editorConfig, run.pull.pullNumber, start.headSha);
}

/** A token that may not push counts as a refusal of the host, like a protected branch. */
async function refusedByHost(push: () => Promise<PushResult>): Promise<PushResult> {
  try {
    return await push();
  } catch (error) {
    if (error instanceof GitError && error.kind === 'refused') return { kind: 'refused', reason: error.message };
    throw error;
  }
}

/** Opens the editor's own pull request onto the head branch, or returns the one that is open already. */
function openOwnPull(
  client: RepositoryClient,
  { run, start, made, branch, signal }: Delivery & { readonly branch: string; readonly signal: AbortSignal },
): Promise<number> {
  const titles = start.findings.map(({ title }) => outputLine(title));
  const title = titles.length === 1 ? `Repair: ${titles[0] ?? ''}` : `Repair ${titles.length} findings of #${run.pull.pullNumber}`;
  return openPullOnto(client, { branch, base: start.headRef, title, note: outputText(made.note), pullNumber: run.pull.pullNumber }, signal);
}
