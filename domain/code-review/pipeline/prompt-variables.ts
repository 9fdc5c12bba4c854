import type { ReviewTemplates } from '../../../workflows/contracts/code-review.ts';
import type { Candidate } from './finding.ts';
import type { FileToRead } from './select-files.ts';
import { dataText, redactTokens } from './text-safety.ts';

/** A pull request as prompts know it. */
export interface PromptPull {
  readonly number: number;
  readonly author: string;
  readonly headRef: string;
  readonly baseRef: string;
  readonly title: string;
  readonly description: string;
}

/** What all prompts of a review share. */
export interface PromptContext {
  readonly repoFullName: string;
  readonly pull: PromptPull;
  /** Of the base branch and of whoever asked for the review: trusted. */
  readonly instructions: string;
  readonly templates: ReviewTemplates;
}

const maxDescription = 20_000;
const maxFiles = 300;

/** Variables of every prompt. Texts of strangers come without what no reader sees; the template puts them into a fence. */
export function commonVariables({ repoFullName, pull, instructions, templates }: PromptContext) {
  return {
    repo: { full_name: repoFullName },
    pull: {
      number: pull.number,
      author: nameText(pull.author),
      head_ref: nameText(pull.headRef),
      base_ref: nameText(pull.baseRef),
      title: dataText(pull.title),
      description: dataText(pull.description).slice(0, maxDescription).toWellFormed(),
    },
    instructions: redactTokens(instructions),
    output: { language: templates.output.language, tone: templates.output.tone },
  };
}

/** Variables of `summary`. */
export function summaryVariables(
  context: PromptContext,
  { files, diff }: { readonly files: readonly FileToRead[]; readonly diff: string },
) {
  const listed = files.slice(0, maxFiles).map(({ patch, hunks }) => ({
    status: patch.status,
    path: nameText(patch.path),
    added: countOf(hunks, 'added'),
    removed: countOf(hunks, 'removed'),
  }));
  return { ...commonVariables(context), files: listed, diff };
}

/** A rule as a prompt shows it. */
export interface PromptRule {
  readonly id: string;
  readonly text: string;
}

/** Variables of `review`, for one pass over one batch. */
export function reviewVariables(
  context: PromptContext,
  {
    focus,
    diff,
    summary,
    rules,
  }: { readonly focus: string; readonly diff: string; readonly summary: string; readonly rules: readonly PromptRule[] },
) {
  const { categories, severity, ignore_rules: ignored } = context.templates;
  return {
    ...commonVariables(context),
    summary: dataText(summary),
    pass: { focus },
    categories: [...categories],
    severities: severity.levels.map((level) => ({ level, definition: severity.definitions[level] ?? '' })),
    rules: [...rules],
    ignore_rules: [...ignored],
    diff,
  };
}

/** Variables of `verify`, for one finding. */
export function verifyVariables(
  context: PromptContext,
  { finding, code, diff }: { readonly finding: Candidate; readonly code: string; readonly diff: string },
) {
  return {
    ...commonVariables(context),
    finding: {
      path: nameText(finding.path),
      start_line: finding.anchor?.startLine ?? finding.saidLine,
      end_line: finding.anchor?.line ?? finding.saidLine,
      category: finding.category,
      severity: finding.severity,
      title: dataText(finding.title),
      scenario: dataText(finding.scenario),
      evidence_quote: finding.evidence,
    },
    code,
    diff,
  };
}

/** Variables of `reply`. */
export function replyVariables(
  context: PromptContext,
  { thread, question, diff }: { readonly thread: string; readonly question: string; readonly diff: string },
) {
  return { ...commonVariables(context), thread: dataText(thread), question: dataText(question), diff };
}

/** Variables of the texts of a check. */
export function checkVariables(
  headSha: string,
  counts: { readonly open: number; readonly inline: number; readonly folded: number; readonly fixed: number },
) {
  return { head_sha: headSha, counts };
}

/** A name that stands outside of a fence: one line, without anything that could be read as more. */
export function nameText(name: string): string {
  return dataText(name)
    .replaceAll(/[^\p{L}\p{N}._@/+#() -]/gu, '_')
    .slice(0, 300);
}

function countOf(hunks: FileToRead['hunks'], kind: 'added' | 'removed'): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.kind === kind).length, 0);
}
