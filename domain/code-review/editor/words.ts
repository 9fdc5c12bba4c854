import { codeSpan, cutBody, fencedCode } from '../pipeline/comment-text.ts';
import { outputText, redactTokens } from '../pipeline/text-safety.ts';
import type { LineReplacement } from './apply.ts';
import type { EditRefusal } from './rules.ts';

const reasons: Readonly<Record<EditRefusal, string>> = {
  off: 'The editor of this repository is switched off.',
  closed: 'The pull request is closed.',
  nothing_open: 'There is no open finding to repair.',
  max_rounds: 'The editor has reached its limit of pushes to this pull request; it suggests changes instead.',
  fork: 'The pull request comes from a fork, to which the editor does not push; it suggests changes instead.',
  protected_path: 'The repair would change protected files, which the editor does not push; it suggests changes instead.',
  tests_failed: 'The required commands failed after the repair, so nothing was pushed.',
  no_sandbox: 'This deployment cannot run the required commands, so nothing was pushed.',
  moved: 'The head moved twice while the editor was working, so nothing was pushed.',
  push_refused: 'The Git host rejected the push.',
  no_repair: 'The editor found no repair.',
  budget: 'The budget of the binding does not cover the editor.',
};

/** What an editor did, for its reply. */
export interface EditReport {
  readonly refusal: EditRefusal | null;
  /** Details of the refusal: paths, output, the host's message. */
  readonly detail: string | null;
  readonly note: string;
  readonly commitSha: string | null;
  readonly branch: string | null;
  readonly pullNumber: number | null;
  /** Repairs on lines that take no comment. */
  readonly loose: readonly LineReplacement[];
  readonly suggested: number;
}

/** The editor's reply to the requester. */
export function reportText({ refusal, detail, note, commitSha, branch, pullNumber, loose, suggested }: EditReport): string {
  const pushed = commitSha === null ? [] : [`Pushed ${commitSha.slice(0, 12)}${branch === null ? '' : ` to ${codeSpan(branch)}`}.`];
  const opened = pullNumber === null ? [] : [`Opened #${pullNumber}.`];
  const why = refusal === null ? [] : [reasons[refusal]];
  const more = detail === null || detail.trim() === '' ? [] : [fencedCode(redactTokens(detail).slice(-2_000))];
  const hints = suggested === 0 ? [] : [`${suggested} ${suggested === 1 ? 'suggestion stands' : 'suggestions stand'} on the lines.`];
  const blocks = loose
    .slice(0, 10)
    .map(
      (each) =>
        `${codeSpan(each.path)}${each.startLine > 0 ? `, lines ${each.startLine} to ${each.line}` : ' (new)'}:\n${fencedCode(each.text)}`,
    );
  return cutBody(
    [...pushed, ...opened, ...why, ...more, outputText(note).trim(), ...hints, ...blocks].filter((part) => part !== '').join('\n\n'),
  );
}
