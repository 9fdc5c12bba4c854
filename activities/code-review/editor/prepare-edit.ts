import { cancellationSignal } from '@temporalio/activity';
import { readLedger, type LedgerRow } from '../../../db/code-review/findings/ledger.ts';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { maxShownBytes, type ShownFile } from '../../../domain/code-review/editor/conversation.ts';
import type { EditStart, FindingToRepair } from '../../../domain/code-review/editor/kept.ts';
import { editRights } from '../../../domain/code-review/editor/rules.ts';
import { recordReviewHead, openBudgetCaps } from '../../../domain/code-review/run-work.ts';
import { editVariables } from '../../../domain/code-review/pipeline/prompt-variables.ts';
import { readTextAt } from '../../../ports/git/edit.ts';
import type { Mirror } from '../../../ports/git/mirrors.ts';
import { fetchPull } from '../../../ports/git/pull.ts';
import type { EditInput } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem, transactAsSystem } from '../../support/as-system.ts';
import { onHost } from '../host/host-failure.ts';
import { openMirror, openRepository } from '../read/open-repository.ts';
import { readInstructions } from '../read/gather-material.ts';
import { readHostPull, type HostPull } from '../read/read-pull.ts';
import { asSystemStep } from '../system-step.ts';
import { keepOf, readAttempt } from './attempt.ts';

const maxFindings = 30;
const maxFiles = 30;

/** Reads the pull request as it is now, its open findings, and the files that they are about. False: the editor may do nothing. */
export async function prepareEdit(deps: ActivityDeps, input: EditInput): Promise<boolean> {
  const { run, start } = await readAttempt(deps, input);
  if (start !== null) return start.may !== 'nothing';
  return asSystemStep(deps, { runId: input.runId, step: input.step, name: 'Read what is to be repaired' }, async () => {
    const answer = await readStart(deps, run);
    await transactAsRun(deps, run.runId, (tx) => recordReviewHead(tx, run.runId, answer.headSha));
    return (await keepOf(deps, run.runId, { stage: 'start', ordinal: input.attempt, answer })).may !== 'nothing';
  });
}

async function readStart(deps: ActivityDeps, run: ReviewRun): Promise<EditStart> {
  const signal = cancellationSignal();
  const client = await openRepository(deps, run);
  const pull = await readHostPull(client, run.pull.pullNumber, signal);
  const ledger = await readAsSystem(deps, (tx) => readLedger(tx, run.pull.id));
  const findings = ledger.filter((finding) => isAsked(finding, run)).slice(0, maxFindings);
  const rights = editRights(run.binding.editorConfig, {
    isOpen: pull.isOpen,
    isFork: pull.isFork,
    maintainersMayEdit: pull.maintainersMayEdit,
    rounds: run.pull.editorRounds,
    openFindings: findings.length,
  });
  const base = { ...rights, headRef: pull.headRef, headRepository: pull.headRepository, findings: findings.map(toRepair) };
  if (rights.may === 'nothing') return { ...base, headSha: pull.headSha, files: [], task: '' };
  await transactAsSystem(deps, (tx) => openBudgetCaps(tx, run, deps.env.billingCurrency));

  return onHost(async () => {
    const mirror = await openMirror(deps, run.binding, client);
    const { clone } = run.binding.workspaceConfig;
    const { headSha, baseSha } = await fetchPull(mirror, { pullNumber: run.pull.pullNumber, baseRef: pull.baseRef, clone }, signal);
    const paths = [...new Set(findings.map(({ path }) => path))].slice(0, maxFiles);
    const files = await readShown(mirror, { sha: headSha, paths }, signal);
    const readText = (sha: string, path: string, maxBytes: number) => readTextAt(mirror, { sha, path, maxBytes }, signal);
    const task = await renderTask(deps, run, { pull, findings, instructions: await readInstructions(run, baseSha, readText) });
    return { ...base, headSha, files, task };
  });
}

function isAsked({ id, state }: LedgerRow, { review }: ReviewRun): boolean {
  return state === 'open' && (review.finding_id === null || review.finding_id === id);
}

function toRepair({ id, path, startLine, endLine, title, scenario, suggestion }: LedgerRow): FindingToRepair {
  return { id, path, startLine, endLine, title, scenario, suggestion };
}

/** Returns files of a commit as the model sees them: text of a bounded size, otherwise nothing. */
export function readShown(
  mirror: Mirror,
  { sha, paths }: { readonly sha: string; readonly paths: readonly string[] },
  signal: AbortSignal,
): Promise<ShownFile[]> {
  return Promise.all(paths.map(async (path) => ({ path, text: await readTextAt(mirror, { sha, path, maxBytes: maxShownBytes }, signal) })));
}

async function renderTask(
  deps: ActivityDeps,
  run: ReviewRun,
  { pull, findings, instructions }: { readonly pull: HostPull; readonly findings: readonly LedgerRow[]; readonly instructions: string },
): Promise<string> {
  const { author, headRef, baseRef, isFork, title, description } = pull;
  const context = {
    repoFullName: run.binding.repoFullName,
    pull: { number: run.pull.pullNumber, author, headRef, baseRef, isFork, title, description },
    instructions,
    templates: run.templates,
  };
  const variables = editVariables(context, { findings, testCommands: run.binding.editorConfig.test_commands });
  return (await deps.templates.of(run.organizationId).render(run.templates.edit.prompt, variables)).text;
}
