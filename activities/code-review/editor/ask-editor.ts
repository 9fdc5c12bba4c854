import { cancellationSignal } from '@temporalio/activity';
import { editorAnswerSchema, readEditorAnswer, type EditorAnswer } from '../../../domain/code-review/editor/answer.ts';
import { editorProtocol, protocolVariables } from '../../../domain/code-review/editor/conversation.ts';
import { editStages, roundOrdinal } from '../../../domain/code-review/editor/kept.ts';
import type { EditRefusal } from '../../../domain/code-review/editor/rules.ts';
import { asJsonSchema, dataRule } from '../../../domain/code-review/pipeline/answers.ts';
import type { EditInput, EditTurn } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { runCancelled } from '../../support/failures.ts';
import { askStage, type StageQuestion } from '../stages/ask-stage.ts';
import { onHost } from '../host/host-failure.ts';
import { openMirror, openRepository } from '../read/open-repository.ts';
import { keepOf, readAttempt, type EditAttempt } from './attempt.ts';
import { readShown } from './prepare-edit.ts';

/** Maximum rounds of an attempt; the workflow asks no more often. */
const maxRounds = 8;

/** Asks the editing model once. Files that it asks to see come with the next question. */
export async function askEditor(deps: ActivityDeps, input: EditInput & { readonly round: number }): Promise<EditTurn> {
  const attempt = await readAttempt(deps, input);
  if (attempt.start === null) throw runCancelled();
  if (attempt.made !== null) return attempt.made.commitSha === null ? 'report' : 'try';
  const ordinal = roundOrdinal(input.attempt, input.round);
  const answer = await askStage(deps, {
    runId: input.runId,
    step: input.step,
    stage: editStages.ask,
    ordinal,
    questionOf: () => questionOf(deps, attempt, input.round),
  });
  if (answer.kind === 'failed') return end(deps, input, { refusal: answer.reason === 'budget' ? 'budget' : 'no_repair', note: '' });

  const said = readEditorAnswer(answer.value);
  if (said === null)
    return again(deps, input, { answer: emptyAnswer, shown: [], problems: ['The answer had not the form that was asked for.'] });
  if (said.edits.length > 0) return 'try';
  if (said.read.length === 0) return end(deps, input, { refusal: 'no_repair', note: said.note });
  const shown = await show(deps, attempt, said.read);
  return again(deps, input, { answer: said, shown, problems: [] });
}

const emptyAnswer: EditorAnswer = { read: [], edits: [], note: '' };

async function questionOf(deps: ActivityDeps, { run, start, rounds }: EditAttempt, round: number): Promise<StageQuestion> {
  const { task = '', files = [] } = start ?? {};
  const variables = protocolVariables({ task, files, rounds, isLast: round === maxRounds });
  const { text } = await deps.templates.of(run.organizationId).render(editorProtocol, variables);
  return { instructions: dataRule, prompt: text, schema: asJsonSchema(editorAnswerSchema), model: null };
}

async function show(deps: ActivityDeps, { run, start }: EditAttempt, paths: readonly string[]) {
  const client = await openRepository(deps, run);
  return onHost(async () =>
    readShown(await openMirror(deps, run.binding, client), { sha: start?.headSha ?? '', paths }, cancellationSignal()),
  );
}

/** Stores a finished round; the next question includes it. */
async function again(
  deps: ActivityDeps,
  { runId, attempt, round }: EditInput & { readonly round: number },
  past: Parameters<typeof keepOf<'past'>>[2]['answer'],
): Promise<EditTurn> {
  if (round < maxRounds) {
    await keepOf(deps, runId, { stage: 'past', ordinal: roundOrdinal(attempt, round), answer: past });
    return 'ask';
  }
  return end(deps, { runId, attempt }, { refusal: 'no_repair', note: past.answer.note });
}

async function end(
  deps: ActivityDeps,
  { runId, attempt }: Pick<EditInput, 'runId' | 'attempt'>,
  { refusal, note }: { readonly refusal: EditRefusal; readonly note: string },
): Promise<EditTurn> {
  await keepOf(deps, runId, {
    stage: 'made',
    ordinal: attempt,
    answer: { commitSha: null, refusal, detail: null, note, replacements: [] },
  });
  return 'report';
}
