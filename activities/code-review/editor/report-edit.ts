import { cancellationSignal } from '@temporalio/activity';
import { readAnswer } from '../../../db/code-review/findings/answers.ts';
import { readAskingComment } from '../../../db/code-review/pulls/editor-facts.ts';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { LineReplacement } from '../../../domain/code-review/editor/apply.ts';
import type { EditStart } from '../../../domain/code-review/editor/kept.ts';
import { reportText } from '../../../domain/code-review/editor/words.ts';
import { fencedCode, type CommentText } from '../../../domain/code-review/pipeline/comment-text.ts';
import { keepAnswer } from '../../../domain/code-review/run-work.ts';
import { planAnswer } from '../../../domain/code-review/pipeline/plan.ts';
import { outputCode } from '../../../domain/code-review/pipeline/text-safety.ts';
import { commentable } from '../../../ports/diff/anchors.ts';
import { createReviewWork } from '../../../ports/diff/review-work.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import type { EditInput } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { openRepository } from '../read/open-repository.ts';
import { postComments } from '../host/post-comments.ts';
import { postReply } from '../host/post-reply.ts';
import { readChange } from '../read/read-change.ts';
import { readHostPull } from '../read/read-pull.ts';
import { asSystemStep } from '../system-step.ts';
import { readAttempt, type EditAttempt } from './attempt.ts';

const maxSuggestions = 30;

/** Suggests the repairs that were not pushed, answers the comment that asked, and stores the outcome of the run. */
export async function reportEdit(deps: ActivityDeps, input: EditInput): Promise<void> {
  const attempt = await readAttempt(deps, input);
  if ((await readAsSystem(deps, (tx) => readAnswer(tx, input.runId, planAnswer))) !== null) return;
  await asSystemStep(deps, { runId: input.runId, step: input.step, name: 'Report the repair' }, async () => {
    const { run, start, pushed } = attempt;
    const text = run.review.post ? await post(deps, attempt) : textOf(attempt, { loose: replacementsOf(attempt), suggested: 0 });
    const plan = { kind: 'fix', headSha: start?.headSha ?? '', text, commitSha: pushed?.commitSha ?? null, branch: pushed?.branch ?? null };
    await transactAsRun(deps, run.runId, (tx) => keepAnswer(tx, run.runId, { ...planAnswer, answer: plan }));
  });
}

async function post(deps: ActivityDeps, attempt: EditAttempt): Promise<string> {
  const { run, start } = attempt;
  const client = await openRepository(deps, run);
  const { comments, loose } = await sortSuggestions(deps, attempt, client);
  const place = { organizationId: run.organizationId, workspaceId: run.workspaceId };
  const common = { place, ownerId: run.runId, client, pullNumber: run.pull.pullNumber };
  if (comments.length > 0)
    await postComments(deps, { ...common, bindingId: run.binding.id, commitSha: start?.headSha ?? '', comments, body: null });
  const text = textOf(attempt, { loose, suggested: comments.length });
  await postReply(deps, { ...common, ordinal: 0, inReplyTo: await threadOf(deps, run), text });
  return text;
}

/** Repairs that were not pushed. */
function replacementsOf({ made, pushed }: EditAttempt): readonly LineReplacement[] {
  return (pushed?.commitSha ?? null) === null ? (made?.replacements ?? []) : [];
}

function textOf(
  { start, made, pushed }: EditAttempt,
  { loose, suggested }: { readonly loose: readonly LineReplacement[]; readonly suggested: number },
): string {
  return reportText({
    refusal: pushed === null ? (made?.refusal ?? start?.refusal ?? null) : pushed.refusal,
    detail: pushed?.detail ?? made?.detail ?? null,
    note: made?.note ?? '',
    commitSha: pushed?.commitSha ?? null,
    branch: pushed?.branch ?? null,
    pullNumber: pushed?.pullNumber ?? null,
    loose,
    suggested,
  });
}

/** Repairs on lines that accept a comment become suggestions there; the reply lists the rest. */
async function sortSuggestions(
  deps: ActivityDeps,
  attempt: EditAttempt,
  client: RepositoryClient,
): Promise<{ readonly comments: readonly CommentText[]; readonly loose: readonly LineReplacement[] }> {
  const replacements = replacementsOf(attempt);
  if (replacements.length === 0 || attempt.start === null) return { comments: [], loose: [] };
  const takesComment = await commentableLines(deps, { run: attempt.run, start: attempt.start, client });
  const fits = (each: LineReplacement) => each.startLine > 0 && outputCode(each.text) !== null && takesComment(each);
  const suggested = replacements.filter(fits).slice(0, maxSuggestions);
  return {
    comments: suggested.map(({ path, startLine, line, text }) => ({
      fingerprint: '',
      path,
      side: 'RIGHT',
      lines: { startLine, line },
      body: fencedCode(text, 'suggestion'),
    })),
    loose: replacements.filter((each) => !suggested.includes(each) && outputCode(each.text) !== null),
  };
}

async function commentableLines(
  deps: ActivityDeps,
  { run, start, client }: { readonly run: ReviewRun; readonly start: EditStart; readonly client: RepositoryClient },
): Promise<(lines: LineReplacement) => boolean> {
  const signal = cancellationSignal();
  const work = createReviewWork(deps.work, { organizationId: run.organizationId, signal });
  const pull = await readHostPull(client, run.pull.pullNumber, signal);
  const change = await readChange(deps, { run, client, pull, work, signal });
  // The line numbers are those of the head that was edited.
  if (change.headSha !== start.headSha) return () => false;
  const files = new Map(change.files.map((patch) => [patch.path, commentable(patch)]));
  return ({ path, startLine, line }) => (files.get(path)?.hunkOf({ side: 'RIGHT', startLine, line }) ?? null) !== null;
}

/** Returns the thread of the comment that asked; null: the answer goes to the pull request itself. */
async function threadOf(deps: ActivityDeps, { review }: ReviewRun): Promise<number | null> {
  const { command_id: commandId } = review;
  const asking = commandId === null ? null : await readAsSystem(deps, (tx) => readAskingComment(tx, commandId));
  return asking?.kind === 'review' ? (asking.inReplyTo ?? asking.commentId) : null;
}
