import Type from 'typebox';
import { Compile } from 'typebox/compile';
import {
  findingCategories,
  findingStates,
  placements,
  reviewKinds,
  severities,
  type CodeReviewOutput,
} from '../../../workflows/contracts/review/code-review.ts';

const closed = { additionalProperties: false } as const;
const oneOf = <T extends string>(values: readonly T[]) => Type.Union(values.map((value) => Type.Literal(value)));
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);
const text = (maxLength: number) => Type.String({ maxLength });
const count = Type.Integer({ minimum: 0 });
const sha = nullable(Type.String({ pattern: '^[0-9a-f]{40}([0-9a-f]{24})?$' }));
const path = text(4_096);

const maxFindings = 200;
const maxUnread = 300;
const maxBytes = 256 * 1024;

const outputFinding = Type.Object(
  {
    id: text(64),
    fingerprint: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    rule_id: nullable(text(120)),
    category: oneOf(findingCategories),
    severity: oneOf(severities),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    path,
    side: oneOf(['LEFT', 'RIGHT']),
    start_line: Type.Integer({ minimum: 1 }),
    end_line: Type.Integer({ minimum: 1 }),
    title: text(80),
    scenario: text(4_000),
    suggestion: nullable(text(10_000)),
    state: oneOf(findingStates),
    placement: oneOf(placements),
    comment_id: nullable(Type.Integer()),
    also_at: Type.Array(Type.Object({ path, line: Type.Integer({ minimum: 1 }) }, closed), { maxItems: 20 }),
    first_head_sha: text(64),
    last_head_sha: text(64),
  },
  closed,
);

/** The schema of `output.json` of a code review run. */
export const codeReviewOutputSchema = Type.Object(
  {
    schema_version: Type.Literal(1),
    kind: oneOf(reviewKinds),
    binding_id: text(36),
    playbook_revision_id: nullable(text(36)),
    repo_full_name: text(300),
    pull_number: Type.Integer({ minimum: 1 }),
    base_sha: sha,
    merge_base_sha: sha,
    head_sha: sha,
    mode: oneOf(['full', 'incremental', 'no_change']),
    verdict: oneOf(['clean', 'findings', 'partial', 'skipped']),
    skip_reason: nullable(oneOf(['draft', 'filtered', 'paused', 'too_many_files', 'budget', 'no_reviewer'])),
    counts: Type.Object(
      {
        raw: count,
        gated: count,
        refuted: count,
        inline: count,
        file: count,
        folded: count,
        carried: count,
        fixed: count,
        dismissed: count,
      },
      closed,
    ),
    files: Type.Object(
      {
        changed: count,
        reviewed: count,
        unread: Type.Array(Type.Object({ path, reason: text(40) }, closed), { maxItems: maxUnread }),
        unread_total: count,
      },
      closed,
    ),
    findings: Type.Array(outputFinding, { maxItems: maxFindings }),
    posted: Type.Object(
      {
        review_ids: Type.Array(Type.Integer(), { maxItems: 100 }),
        summary_review_id: nullable(Type.Integer()),
        check_run_id: nullable(Type.Integer()),
        commit_sha: nullable(text(64)),
        branch: nullable(text(255)),
      },
      closed,
    ),
  },
  closed,
);
const output = Compile(codeReviewOutputSchema);

/**
 * Fits an output into its bounds: 200 findings, 300 unread files, 256 KB; drops the excess from the end, unread files first; the counts still include it.
 * Throws a plain error for an output that still violates its schema, which is a fault of ours.
 */
export function fitOutput(whole: CodeReviewOutput): CodeReviewOutput {
  let fitted: CodeReviewOutput = {
    ...whole,
    files: { ...whole.files, unread: whole.files.unread.slice(0, maxUnread) },
    findings: whole.findings.slice(0, maxFindings),
  };
  while (Buffer.byteLength(JSON.stringify(fitted)) > maxBytes && (fitted.findings.length > 0 || fitted.files.unread.length > 0)) {
    const { findings, files } = fitted;
    fitted =
      files.unread.length > 0
        ? { ...fitted, files: { ...files, unread: files.unread.slice(0, Math.floor(files.unread.length * shrink)) } }
        : { ...fitted, findings: findings.slice(0, Math.floor(findings.length * shrink)) };
  }
  const [problem] = output.Check(fitted) ? [] : output.Errors(fitted);
  if (problem) throw new Error(`the output of a review has not its form: ${problem.instancePath} ${problem.message}`);
  return fitted;
}

const shrink = 0.9;
