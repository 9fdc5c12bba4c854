import { batchOf, candidateOf, comparedOf } from '../../../domain/code-review/pipeline/advance.ts';
import {
  asJsonSchema,
  dataRule,
  findingsSchema,
  groupsSchema,
  readWords,
  voteSchema,
  wordsSchema,
} from '../../../domain/code-review/pipeline/answers.ts';
import type { Candidate } from '../../../domain/code-review/pipeline/finding.ts';
import { codeAround, type LedgerFinding, type MaterialFile } from '../../../domain/code-review/pipeline/material.ts';
import {
  replyVariables,
  reviewVariables,
  summaryVariables,
  verifyVariables,
  type PromptContext,
  type PromptRule,
} from '../../../domain/code-review/pipeline/prompt-variables.ts';
import { renderBatches, renderCode } from '../../../domain/code-review/pipeline/render-diff.ts';
import { dataText } from '../../../domain/code-review/pipeline/text-safety.ts';
import { TemplateError } from '../../../ports/templates/templates.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { PlannedStageCall } from '../../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../../deps.ts';
import { giveUp } from '../../support/failures.ts';
import type { StageQuestion } from './ask-stage.ts';
import { rulesOf, type ReviewState } from './next-calls.ts';

/** The part of a review's state that its questions need. */
export interface QuestionState extends Pick<ReviewState, 'material' | 'answers'> {
  readonly run: Pick<ReviewState['run'], 'organizationId' | 'templates'> & {
    readonly binding: Pick<ReviewState['run']['binding'], 'reviewConfig'>;
  };
}

/** Returns the question of a planned call; null: its subject no longer exists. */
export async function questionOf(
  deps: Pick<ActivityDeps, 'templates'>,
  state: QuestionState,
  call: PlannedStageCall,
): Promise<StageQuestion | null> {
  const asked = variablesOf(state, call);
  if (asked === null) return null;
  const { template, variables, instructions, ...question } = asked;
  const prompt = template === null ? variables : await render(deps, state, template, variables);
  return { ...question, instructions: `${dataRule}\n${instructions}`, prompt: String(prompt) };
}

interface Asked extends Pick<StageQuestion, 'schema' | 'model'> {
  /** Null: `variables` is the prompt itself. */
  readonly template: string | null;
  readonly variables: Parameters<ReturnType<ActivityDeps['templates']['of']>['render']>[1] | string;
  readonly instructions: string;
}

function variablesOf(state: QuestionState, call: PlannedStageCall): Asked | null {
  switch (call.stage) {
    case 'summary':
      return summaryQuestion(state);
    case 'pass':
      return passQuestion(state, call);
    case 'verify':
      return verifyQuestion(state, call);
    case 'fixed':
      return fixedQuestion(state, call);
    case 'same':
      return sameQuestion(state, call);
    case 'reply':
      return replyQuestion(state);
    default:
      return null;
  }
}

function contextOf({ run, material }: QuestionState): PromptContext {
  return { repoFullName: material.repoFullName, pull: material.pull, instructions: material.instructions, templates: run.templates };
}

/** Returns as much of the whole change as fits into one call. */
function diffOf(files: readonly MaterialFile[]): string {
  const [first, ...more] = renderBatches(files);
  return more.length === 0 ? (first?.text ?? '') : `${first?.text ?? ''}[the rest of the diff is left out]\n`;
}

function summaryQuestion(state: QuestionState): Asked {
  const { files } = state.material;
  return {
    template: state.run.templates.summary.prompt,
    variables: summaryVariables(contextOf(state), { files, diff: diffOf(files) }),
    instructions: 'Answer with the summary as `text`.',
    schema: asJsonSchema(wordsSchema),
    model: null,
  };
}

function passQuestion(state: QuestionState, call: PlannedStageCall): Asked | null {
  const { pass: at, files, batch } = batchOf(state.material, { stage: 'pass', ordinal: call.ordinal });
  const pass = state.run.templates.review.passes[at];
  if (pass === undefined) return null;
  const summary = state.answers.get('summary:0');
  const facts = {
    pass,
    files,
    diff: batch.text,
    summary: summary?.kind === 'given' ? readWords(summary.value) : '',
    rules: rulesFor(files),
  };
  return {
    template: state.run.templates.review.prompt,
    variables: reviewVariables(contextOf(state), facts),
    instructions:
      'Answer with `findings`, an empty list where there are none. `start_line` and `end_line` are the numbers before the lines, `side` is RIGHT for R and LEFT for L. `evidence_quote` repeats code of these lines letter by letter. `suggestion` is the code that takes the place of exactly these lines, or null.',
    schema: asJsonSchema(findingsSchema),
    model: pass.model ?? null,
  };
}

function rulesFor(files: readonly MaterialFile[]): PromptRule[] {
  const rules = new Map<string, PromptRule>();
  for (const { languageRules, pathRules } of files) {
    for (const { id, text, examples } of languageRules) rules.set(id, { id, text: examples === undefined ? text : `${text}\n${examples}` });
    for (const { paths, instructions } of pathRules) rules.set(paths.join(' '), { id: `for ${paths.join(', ')}`, text: instructions });
  }
  return [...rules.values()];
}

const voteInstructions = 'Answer with your `reason` first, then `stands`, then your `confidence` in that.';

function verifyQuestion(state: QuestionState, call: PlannedStageCall): Asked | null {
  const candidate = candidateOf(state.material, rulesOf(state.run), {
    call: { stage: 'verify', ordinal: call.ordinal },
    answers: state.answers,
  });
  return candidate && voteQuestion(state, candidate);
}

function voteQuestion(state: QuestionState, candidate: Candidate): Asked {
  const file = state.material.files.find(({ patch }) => patch.path === candidate.path);
  const [from, to] = [candidate.anchor?.startLine ?? candidate.saidLine, candidate.anchor?.line ?? candidate.saidLine];
  return {
    template: state.run.templates.verify.prompt,
    variables: verifyVariables(contextOf(state), {
      finding: candidate,
      code: renderCode(codeAround(file, from, to)),
      diff: diffOf(file ? [{ ...file, hunks: file.patch.hunks }] : []),
    }),
    instructions: voteInstructions,
    schema: asJsonSchema(voteSchema),
    model: null,
  };
}

/** Asks whether an earlier finding still applies, now that its code has changed. */
function fixedQuestion(state: QuestionState, { ordinal }: PlannedStageCall): Asked | null {
  const finding = state.material.ledger[ordinal];
  if (finding === undefined) return null;
  const asked = voteQuestion(state, candidateOfLedger(finding));
  return {
    ...asked,
    instructions: `The report is of an earlier state of the code, which has changed since. Judge the code as it is now.\n${voteInstructions}`,
  };
}

function candidateOfLedger({ startLine, endLine, category, ...finding }: LedgerFinding): Candidate {
  return {
    ...finding,
    // The ledger stores what was once a candidate.
    category: category as Candidate['category'],
    anchor: { path: finding.path, side: finding.side, startLine, line: endLine },
    saidLine: endLine,
    suggestion: null,
    alsoAt: [],
  };
}

function sameQuestion(state: QuestionState, call: PlannedStageCall): Asked | null {
  const compared = comparedOf(state.material, rulesOf(state.run), {
    call: { stage: 'same', ordinal: call.ordinal },
    answers: state.answers,
  });
  if (compared.length < 2) return null;
  const listed = compared.map(({ title, scenario, anchor, saidLine }, at) => ({
    number: at,
    lines: anchor ? [anchor.startLine, anchor.line] : [saidLine, saidLine],
    title: dataText(title),
    scenario: dataText(scenario),
  }));
  return {
    template: null,
    variables: `Reports of faults in one file, as JSON. Some may be one fault in other words, or one cause at several places.\n<<<reports\n${JSON.stringify(listed, null, 1)}\nreports>>>`,
    instructions: 'Answer with `groups`: lists of the numbers of reports that one repair would settle. Leave out what stands alone.',
    schema: asJsonSchema(groupsSchema),
    model: null,
  };
}

function replyQuestion(state: QuestionState): Asked {
  const { material } = state;
  return {
    template: state.run.templates.reply.prompt,
    variables: replyVariables(contextOf(state), { thread: material.thread, question: material.question, diff: diffOf(material.files) }),
    instructions: 'Answer with the reply as `text`.',
    schema: asJsonSchema(wordsSchema),
    model: null,
  };
}

async function render(
  deps: Pick<ActivityDeps, 'templates'>,
  { run }: QuestionState,
  template: string,
  variables: Asked['variables'],
): Promise<string> {
  if (typeof variables === 'string') return variables;
  try {
    return (await deps.templates.of(run.organizationId).render(template, variables)).text;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw giveUp(
      fail('validation_failed', {
        reason: 'template',
        detail: `A prompt of the playbook could not be rendered: ${error.message}`.slice(0, 500),
      }),
    );
  }
}
