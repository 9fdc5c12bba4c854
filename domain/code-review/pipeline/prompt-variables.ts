import type { ReviewTemplates, ReviewVerdict } from '../../../workflows/contracts/review/code-review.ts';
import type { Candidate } from './finding.ts';
import type { LedgerFinding } from './material.ts';
import type { FileToRead } from './select-files.ts';
import { dataText, redactTokens } from './text-safety.ts';

/** A pull request as prompts know it. */
export interface PromptPull {
  readonly number: number;
  readonly author: string;
  readonly headRef: string;
  readonly baseRef: string;
  readonly isFork: boolean;
  readonly title: string;
  readonly description: string;
}

/** The variables that all prompts of a review share. */
export interface PromptContext {
  readonly repoFullName: string;
  readonly pull: PromptPull;
  /** Trusted: from the base branch and from the requester of the review. */
  readonly instructions: string;
  readonly templates: Pick<ReviewTemplates, 'output' | 'categories' | 'severity' | 'ignore_rules'>;
}

const maxDescription = 20_000;
const maxFiles = 300;

/** Variables of every prompt. Untrusted texts are stripped of what no reader sees; the template puts them into a fence. */
export function commonVariables({ repoFullName, pull, instructions, templates }: PromptContext) {
  return {
    repo: { full_name: repoFullName },
    pull: {
      number: pull.number,
      author: nameText(pull.author),
      head_ref: nameText(pull.headRef),
      base_ref: nameText(pull.baseRef),
      is_fork: pull.isFork,
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
  return { ...commonVariables(context), files: listedFiles(files), diff };
}

/** A rule as a prompt shows it. */
export interface PromptRule {
  readonly id: string;
  readonly text: string;
}

export interface PassFacts {
  readonly pass: { readonly key: string; readonly focus: string };
  readonly files: readonly FileToRead[];
  readonly diff: string;
  readonly summary: string;
  readonly rules: readonly PromptRule[];
}

/** Variables of `review`, for one pass over one batch. */
export function reviewVariables(context: PromptContext, { pass, files, diff, summary, rules }: PassFacts) {
  const { categories, severity, ignore_rules: ignored } = context.templates;
  return {
    ...commonVariables(context),
    summary: dataText(summary),
    pass: { key: pass.key, focus: pass.focus },
    categories: [...categories],
    severities: severity.levels.map((level) => ({ level, definition: severity.definitions[level] ?? '' })),
    rules: [...rules],
    ignore_rules: [...ignored],
    files: listedFiles(files),
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
      side: finding.side,
      category: finding.category,
      severity: finding.severity,
      confidence: finding.confidence,
      title: dataText(finding.title),
      scenario: dataText(finding.scenario),
      evidence_quote: finding.evidence,
      suggestion: dataText(finding.suggestion ?? ''),
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

/** A finding that is to be repaired, as a prompt shows it. */
export interface RepairFacts {
  readonly findings: readonly Pick<LedgerFinding, 'path' | 'startLine' | 'endLine' | 'title' | 'scenario'>[];
  readonly testCommands: readonly string[];
}

/** Variables of `edit`. */
export function editVariables(context: PromptContext, { findings, testCommands }: RepairFacts) {
  return {
    ...commonVariables(context),
    findings: findings.map(({ path, startLine, endLine, title, scenario }) => ({
      path: nameText(path),
      start_line: startLine,
      end_line: endLine,
      title: dataText(title),
      scenario: dataText(scenario),
    })),
    test_commands: [...testCommands],
  };
}

/** The facts in the texts of a check. */
export interface CheckFacts {
  readonly verdict: ReviewVerdict;
  readonly headSha: string;
  readonly counts: {
    readonly open: number;
    readonly inline: number;
    readonly file: number;
    readonly folded: number;
    readonly carried: number;
    readonly fixed: number;
    readonly dismissed: number;
  };
}

/** Variables of the texts of a check. */
export function checkVariables({ verdict, headSha, counts }: CheckFacts) {
  return { verdict, head_sha: headSha, counts };
}

/** A name outside of a fence: one line, without anything that could be read as more. */
export function nameText(name: string): string {
  return dataText(name)
    .replaceAll(/[^\p{L}\p{N}._@/+#() -]/gu, '_')
    .slice(0, 300);
}

function listedFiles(files: readonly FileToRead[]) {
  return files.slice(0, maxFiles).map(({ patch, hunks }) => ({
    status: patch.status,
    path: nameText(patch.path),
    added: countOf(hunks, 'added'),
    removed: countOf(hunks, 'removed'),
  }));
}

function countOf(hunks: FileToRead['hunks'], kind: 'added' | 'removed'): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.kind === kind).length, 0);
}
