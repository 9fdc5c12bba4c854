import { cancellationSignal } from '@temporalio/activity';
import type { PostKey } from '../../../db/code-review/posts/posts.ts';
import { hasEditor, readPosted, readReviewHead } from '../../../db/code-review/posts/read-posts.ts';
import { beginPost, recordPosted } from '../../../domain/code-review/posting/claims.ts';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { PlannedReview } from '../../../domain/code-review/pipeline/plan.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import {
  annotateCheck,
  createCheck,
  endCheck,
  findCheck,
  maxAnnotations,
  type CheckAction,
  type CheckConclusion,
  type CheckOutput,
  type HostCheck,
} from '../../../ports/github/checks.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem, transactAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';
import { openRepository } from '../read/open-repository.ts';
import { postOnce } from './post-once.ts';
import { readPlan } from '../read/read-plan.ts';

/** Name under which the host shows our checks. */
const checkName = 'Longhaul review';
const fixAction: CheckAction = { label: 'Fix', description: 'Repair the open findings', identifier: 'fix' };

interface CheckOf {
  readonly run: ReviewRun;
  readonly client: RepositoryClient;
  readonly headSha: string;
}

/** Shows at the head of a run that its review has begun: one check per run, under the run's id. Host errors are thrown as the workflow's failures. */
export async function openCheck(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<void> {
  const { run } = await readPlan(deps, runId);
  const headSha = await readAsSystem(deps, (tx) => readReviewHead(tx, runId));
  if (headSha === null) throw new Error('the head of the run is not known yet');
  const client = await openRepository(deps, run);
  await checkIdOf(deps, { run, client, headSha });
}

/** Returns the id of the run's check, after looking for an existing one before creating it. */
function checkIdOf(deps: ActivityDeps, { run, client, headSha }: CheckOf): Promise<number> {
  const signal = cancellationSignal();
  const named = { headSha, name: checkName, externalId: run.runId };
  const find = async () => (await onHost(() => findCheck(client, named, signal)))?.id ?? null;
  return postOnce(deps, {
    place: run,
    key: keyOf(run),
    find,
    send: async () => (await find()) ?? createCheck(client, named, signal),
  });
}

export interface CheckEnd {
  readonly runId: string;
  /** Overrides the plan's conclusion: `cancelled`, or `neutral` when the review has failed. */
  readonly conclusion?: CheckConclusion;
}

/**
 * Ends the check of a run with its plan's conclusion, or with the caller's. Annotations are sent 50 per request, each batch once. A run that has no check and
 * no plan is left alone. Host errors are thrown as the workflow's failures.
 */
export async function concludeCheck(deps: ActivityDeps, end: CheckEnd): Promise<void> {
  const { run, plan } = await readPlan(deps, end.runId);
  const planned = plan?.kind === 'review' ? plan : null;
  const posted = await readAsSystem(deps, (tx) => readPosted(tx, run.runId));
  const kept = posted.find(({ kind, ordinal }) => kind === 'check' && ordinal === 0);
  const headSha = planned?.headSha ?? (await readAsSystem(deps, (tx) => readReviewHead(tx, run.runId)));
  if (headSha === null || (kept === undefined && planned === null)) return;

  const client = await openRepository(deps, run);
  const checkId = kept === undefined ? await checkIdOf(deps, { run, client, headSha }) : Number(kept.githubId);
  const isOverruled = end.conclusion !== undefined && end.conclusion !== planned?.check.conclusion;
  const annotations = isOverruled || planned === null ? [] : planned.check.annotations;
  const output = outputOf(planned, end);
  const batches = Math.ceil(annotations.length / maxAnnotations);
  for (let batch = 0; batch + 1 < batches; batch += 1)
    await annotate(deps, { run, client, headSha }, { checkId, batch, output: { ...output, annotations: batchOf(annotations, batch) } });

  const last = await lastBatch(deps, { run, client, headSha }, { annotations, batches });
  const isFixable =
    !isOverruled && planned !== null && openFindings(planned) > 0 && (await readAsSystem(deps, (tx) => hasEditor(tx, run.binding.id)));
  const conclusion = end.conclusion ?? planned?.check.conclusion ?? 'neutral';
  const actions = isFixable ? [fixAction] : [];
  await onHost(() => endCheck(client, checkId, { conclusion, output: { ...output, annotations: last }, actions }, cancellationSignal()));
  await transactAsSystem(deps, (tx) => recordPosted(tx, run, { key: keyOf(run, batches + 1), githubId: checkId }));
}

/** Ends the check of a run that has ended without its plan, with the conclusion that the run's status implies. */
export async function abandonCheck(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<void> {
  const { run } = await readPlan(deps, runId);
  await concludeCheck(deps, { runId, conclusion: run.status === 'cancelled' ? 'cancelled' : 'neutral' });
}

function keyOf({ runId }: ReviewRun, ordinal = 0): PostKey {
  return { ownerId: runId, kind: 'check', ordinal };
}

function outputOf(plan: PlannedReview | null, { conclusion }: CheckEnd): Omit<CheckOutput, 'annotations'> {
  if (conclusion === undefined && plan !== null) return { title: plan.check.title, summary: plan.check.summary };
  const text = conclusion === 'cancelled' ? 'Superseded by a newer head' : 'The review could not be completed';
  return { title: text, summary: text };
}

function batchOf<T>(items: readonly T[], batch: number): readonly T[] {
  return items.slice(batch * maxAnnotations, (batch + 1) * maxAnnotations);
}

/** Adds one batch. The host counts the annotations that it has, so a batch whose reply was lost is not added again. */
async function annotate(
  deps: ActivityDeps,
  at: CheckOf,
  { checkId, batch, output }: { readonly checkId: number; readonly batch: number; readonly output: CheckOutput },
): Promise<void> {
  const signal = cancellationSignal();
  await postOnce(deps, {
    place: at.run,
    key: keyOf(at.run, batch + 1),
    find: async () => (((await countOf(at))?.annotations ?? 0) >= (batch + 1) * maxAnnotations ? checkId : null),
    send: async () => {
      await annotateCheck(at.client, checkId, output, signal);
      return checkId;
    },
  });
}

/** Returns what the last request adds: nothing, when an earlier attempt of it has arrived. */
async function lastBatch<T>(
  deps: ActivityDeps,
  at: CheckOf,
  { annotations, batches }: { readonly annotations: readonly T[]; readonly batches: number },
): Promise<readonly T[]> {
  if (batches === 0) return [];
  const turn = await transactAsSystem(deps, (tx) => beginPost(tx, at.run, keyOf(at.run, batches)));
  const isRepeat = turn.state !== 'send';
  const count = isRepeat ? ((await countOf(at))?.annotations ?? 0) : 0;
  return isRepeat && count >= annotations.length ? [] : batchOf(annotations, batches - 1);
}

function countOf({ run, client, headSha }: CheckOf): Promise<HostCheck | null> {
  return onHost(() => findCheck(client, { headSha, name: checkName, externalId: run.runId }, cancellationSignal()));
}

function openFindings({ conclusion }: PlannedReview): number {
  return conclusion.findings.length + conclusion.carried.length;
}
