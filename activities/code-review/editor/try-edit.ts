import { cancellationSignal } from '@temporalio/activity';
import { readAnswer } from '../../../db/code-review/findings/answers.ts';
import { readSandboxLimits } from '../../../db/code-review/pulls/editor-facts.ts';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { resolveSecret } from '../../../domain/secrets/resolve-secret.ts';
import { readEditorAnswer, type EditorAnswer } from '../../../domain/code-review/editor/answer.ts';
import { applyEdits, type Applied } from '../../../domain/code-review/editor/apply.ts';
import { editStages, roundOrdinal, type EditMade, type EditStart } from '../../../domain/code-review/editor/kept.ts';
import { commitMessage, protectedOf, type EditRefusal } from '../../../domain/code-review/editor/rules.ts';
import type { StageAnswer } from '../../../domain/code-review/pipeline/advance.ts';
import { outputLine, outputText } from '../../../domain/code-review/pipeline/text-safety.ts';
import { archiveOf } from '../../../ports/git/archive.ts';
import { makeCommit, readTextAt } from '../../../ports/git/edit.ts';
import type { Mirror } from '../../../ports/git/mirrors.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { runChecks, type CheckReply } from '../../../ports/sandbox/checks.ts';
import type { EditInput } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem, transactAsSystem } from '../../support/as-system.ts';
import { runCancelled } from '../../support/failures.ts';
import { onHost } from '../host/host-failure.ts';
import { openMirror, openRepository } from '../read/open-repository.ts';
import { asSystemStep } from '../system-step.ts';
import { keepOf, readAttempt } from './attempt.ts';

const maxFileBytes = 1024 * 1024;
const maxArchiveBytes = 256 * 1024 * 1024;

type TryInput = EditInput & { readonly round: number; readonly isLast: boolean };
type Tried = 'push' | 'ask' | 'report';

/** Applies the edits of a round, makes their commit and runs the commands that it has to pass. */
export async function tryEdit(deps: ActivityDeps, input: TryInput): Promise<Tried> {
  const { run, start, made } = await readAttempt(deps, input);
  if (made !== null) return nextOf(made);
  const ordinal = roundOrdinal(input.attempt, input.round);
  const kept = await readAsSystem(deps, (tx) => readAnswer(tx, input.runId, { stage: editStages.ask, ordinal }));
  const answer = kept === null ? null : (kept as StageAnswer); // stored by `askStage`
  const said = answer?.kind === 'given' ? readEditorAnswer(answer.value) : null;
  if (start === null || said === null) throw runCancelled();
  return asSystemStep(deps, { runId: input.runId, step: input.step, name: 'Try the repair' }, async () => {
    const signal = cancellationSignal();
    const client = await openRepository(deps, run);
    const mirror = await onHost(() => openMirror(deps, run.binding, client));
    const outcome = await onHost(() => tryOut(deps, { run, start, said, client, mirror, signal }));
    if ('problems' in outcome && !input.isLast) {
      await keepOf(deps, run.runId, { stage: 'past', ordinal, answer: { answer: said, shown: outcome.shown, problems: outcome.problems } });
      return 'ask';
    }
    const last = 'problems' in outcome ? outcome.made : outcome;
    return nextOf(await keepOf(deps, run.runId, { stage: 'made', ordinal: input.attempt, answer: last }));
  });
}

function nextOf({ commitSha }: EditMade): Tried {
  return commitSha === null ? 'report' : 'push';
}

interface Trial {
  readonly run: ReviewRun;
  readonly start: EditStart;
  readonly said: EditorAnswer;
  readonly client: RepositoryClient;
  readonly mirror: Mirror;
  readonly signal: AbortSignal;
}

/** What the model can correct with another answer, and what is made if it gets no further round. */
interface Mendable {
  readonly problems: readonly string[];
  readonly shown: readonly { readonly path: string; readonly text: string | null }[];
  readonly made: EditMade;
}

async function tryOut(deps: ActivityDeps, trial: Trial): Promise<EditMade | Mendable> {
  const { run, start, said } = trial;
  const head = await readEdited(trial);
  const applied = applyEdits(head, said.edits);
  if (applied.kind === 'wrong')
    return {
      problems: applied.problems,
      shown: [],
      made: notPushed('no_repair', { note: said.note, detail: applied.problems.join('\n') }),
    };
  const { replacements } = applied;
  const { note } = said;
  if (start.may === 'suggest') return notPushed(start.refusal, { note, replacements });
  const guarded = protectedOf([...applied.files.keys()], run.binding.editorConfig);
  if (guarded.length > 0) return notPushed('protected_path', { note, replacements, detail: guarded.join('\n') });

  const commitSha = await commit(trial, applied);
  const reply = await check(deps, trial, commitSha);
  if (reply === null || reply.kind === 'passed') return { commitSha, refusal: null, detail: null, note, replacements };
  if (reply.kind === 'unavailable') return notPushed('no_sandbox', { note, replacements });
  const detail = checkText(reply);
  return {
    problems: [`The commands that must pass did not:\n${detail}`],
    shown: [],
    made: notPushed('tests_failed', { note, replacements, detail }),
  };
}

function notPushed(
  refusal: EditRefusal | null,
  { note, replacements = [], detail = null }: Pick<EditMade, 'note'> & Partial<Pick<EditMade, 'replacements' | 'detail'>>,
): EditMade {
  return { commitSha: null, refusal, detail, note, replacements };
}

async function readEdited({ start, said, mirror, signal }: Trial): Promise<Map<string, string | null>> {
  const paths = [...new Set(said.edits.map(({ path }) => path))];
  const read = paths.map(
    async (path) => [path, await readTextAt(mirror, { sha: start.headSha, path, maxBytes: maxFileBytes }, signal)] as const,
  );
  return new Map(await Promise.all(read));
}

async function commit(
  { run, start, said, client, mirror, signal }: Trial,
  { files }: Extract<Applied, { kind: 'applied' }>,
): Promise<string> {
  const app = await client.self(signal);
  return makeCommit(
    mirror,
    {
      parent: start.headSha,
      edits: [...files].map(([path, text]) => ({ path, bytes: Buffer.from(text) })),
      message: commitMessage({
        titles: start.findings.map(({ title }) => outputLine(title)),
        note: outputText(said.note),
        runId: run.runId,
      }),
      author: { name: app.login, email: `${app.id}+${app.login}@users.noreply.github.com` },
      // The same for each try, so that the commit is the same.
      at: run.startedAt ?? new Date(0),
    },
    signal,
  );
}

/** Null: no command has to pass. */
async function check(deps: ActivityDeps, { run, mirror, signal }: Trial, sha: string): Promise<CheckReply | null> {
  const { editorConfig, workspaceConfig } = run.binding;
  if (editorConfig.test_commands.length === 0) return null;
  const { sandbox_tool_id: toolId, env_secret_names: names } = workspaceConfig;
  const limits = toolId === null ? null : await readAsSystem(deps, (tx) => readSandboxLimits(tx, toolId));
  if (limits === null || deps.sandbox === null) return { kind: 'unavailable' };
  const archive = await archiveOf(mirror, { sha, maxBytes: maxArchiveBytes }, signal);
  return runChecks({ archive, commands: editorConfig.test_commands, env: await readEnv(deps, run, names), ...limits }, signal);
}

function readEnv(
  deps: ActivityDeps,
  { organizationId, workspaceId }: ReviewRun,
  names: readonly string[],
): Promise<Record<string, string>> {
  const naming = { scope: 'workspace', toolId: null, organizationId, workspaceId } as const;
  return transactAsSystem(deps, async (tx) => {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = await resolveSecret(tx, deps.keys, { name, row: naming });
      if (value !== null) found[name] = value;
    }
    return found;
  });
}

function checkText(reply: Exclude<CheckReply, { kind: 'passed' | 'unavailable' }>): string {
  const how = reply.kind === 'failed' ? `${reply.command}\nended with ${reply.code}` : `stopped: ${reply.reason}`;
  return `${how}\n${reply.output}`;
}
