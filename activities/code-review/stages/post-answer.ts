import { readCommandPost } from '../../../db/code-review/posts/command-posts.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { openRepository } from '../read/open-repository.ts';
import { postReply } from '../host/post-reply.ts';
import { readPlan } from '../read/read-plan.ts';
import { threadOf } from '../host/command-posts.ts';

/** Posts a run's answer to a question, or the report of a repair, once: below the command that asked, otherwise in the conversation of the pull request. */
export async function postAnswer(deps: ActivityDeps, { runId }: { readonly runId: string }): Promise<void> {
  const { run, plan } = await readPlan(deps, runId);
  if (plan === null || plan.kind === 'review' || plan.text.trim() === '') return;
  const { command_id: commandId } = run.review;
  const command = commandId === null ? null : await readAsSystem(deps, (tx) => readCommandPost(tx, commandId));
  const client = await openRepository(deps, run);
  const inReplyTo = command === null ? null : threadOf(command);
  await postReply(deps, { place: run, ownerId: runId, ordinal: 0, client, pullNumber: run.pull.pullNumber, inReplyTo, text: plan.text });
}
