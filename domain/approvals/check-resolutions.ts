import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { readRunTools } from '../../db/runs/start/manifest-tools.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  readQuestions,
  type AskedRow,
  type Resolution,
  type CheckedResolution,
  readManifest,
  hasQuestion,
} from '../../db/approvals/question-rows.ts';
import type { ResolveApprovals } from './resolve.ts';
import type { ApprovalReason } from '../../workflows/contracts/runs/approvals.ts';

const maxBytes = 64 * 1024;
const maxArgsBytes = 200 * 1024;

/** Checks answers against what their questions offer. Throws 422; for an id that is not a question of the run or a descendant, rule `reference`. */
export async function checkResolutions(tx: TenantTransaction, input: ResolveApprovals): Promise<CheckedResolution[]> {
  const { resolutions, pointerOf = (index: number) => `/resolutions/${index}` } = input;
  const ids = resolutions.map(({ approval_id: id }) => id);
  const found = await readQuestions(tx, input.runId, ids);
  const checked: CheckedResolution[] = [];
  for (const [index, resolution] of resolutions.entries()) {
    const pointer = pointerOf(index);
    const approval = found.find(({ id }) => id === resolution.approval_id);
    if (!approval) throw unknown(`${pointer}/approval_id`);
    if (ids.indexOf(approval.id) !== index) throw invalid(`${pointer}/approval_id`, 'unique', 'Each question can be answered only once.');
    checkForm(approval, resolution, pointer);
    checked.push({
      resolution,
      approval,
      args: resolution.decision === 'edit' ? await editedArgs(tx, input, { approval, resolution, pointer }) : null,
      subjectId: approval.subjectKind === 'user' ? approval.subjectId : null,
      pointer,
    });
    if (resolution.decision === 'respond') await checkResponse(input, { approval, resolution, pointer });
  }
  return checked;
}

interface One {
  readonly approval: AskedRow;
  readonly resolution: Resolution;
  readonly pointer: string;
}

function checkForm(approval: AskedRow, resolution: Resolution, pointer: string): void {
  const { decision } = resolution;
  if (!approval.decisions.includes(decision))
    throw invalid(`${pointer}/decision`, 'enum', `The question allows ${approval.decisions.join(', ')}.`, { allowed: approval.decisions });
  refuseUnless(decision === 'edit', resolution.edited_args !== undefined, `${pointer}/edited_args`);
  refuseUnless(decision === 'respond', resolution.response !== undefined, `${pointer}/response`);
}

/** Checks a field that one decision requires and all others forbid. */
function refuseUnless(isDemanded: boolean, isGiven: boolean, pointer: string): void {
  if (isDemanded && !isGiven) throw invalid(pointer, 'required', 'The decision requires it.');
  if (!isDemanded && isGiven) throw invalid(pointer, 'forbidden', 'The decision does not allow it.');
}

async function editedArgs(tx: TenantTransaction, { validate }: ResolveApprovals, { approval, resolution, pointer }: One) {
  const manifest = await readManifest(tx, approval.runId);
  const tool = (manifest === null ? [] : await readRunTools(tx, manifest)).find(({ slug }) => slug === approval.toolSlug);
  if (!tool) throw invalid(`${pointer}/edited_args`, 'reference', 'The run no longer has this tool.');
  const args = { ...resolution.edited_args, ...tool.pin.preset };
  if (Buffer.byteLength(JSON.stringify(args)) > maxArgsBytes)
    throw invalid(`${pointer}/edited_args`, 'maxLength', 'The arguments are too long.');
  await refuseUnfit({ validate }, { schema: tool.inputSchema, value: args, pointer: `${pointer}/edited_args` });
  return args;
}

async function checkResponse({ validate }: ResolveApprovals, { approval, resolution, pointer }: One): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(resolution.response)) > maxBytes)
    throw invalid(`${pointer}/response`, 'maxLength', `A response can have at most ${maxBytes} bytes.`);
  if (approval.responseSchema === null) return;
  await refuseUnfit({ validate }, { schema: approval.responseSchema, value: resolution.response, pointer: `${pointer}/response` });
}

interface Value {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  readonly pointer: string;
}

async function refuseUnfit({ validate }: Pick<ResolveApprovals, 'validate'>, { schema, value, pointer }: Value): Promise<void> {
  const problems = await validate(schema, value);
  if (problems.length === 0) return;
  throw fail('validation_failed', {
    detail: 'The answer does not match the schema of the question.',
    errors: problems.slice(0, 20).map((problem) => ({
      in: 'body',
      pointer: `${pointer}${problem.pointer}`,
      name: null,
      rule: 'schema',
      message: problem.message.slice(0, 500),
    })),
  });
}

function unknown(pointer: string) {
  return invalid(pointer, 'reference', 'The run and its descendants have no such question.');
}

/** Throws 422 unless the run or a descendant has asked a question of this kind. */
export async function requireQuestion(
  tx: TenantTransaction,
  question: { readonly runId: string; readonly approvalId: string; readonly reason: ApprovalReason },
): Promise<void> {
  if (!(await hasQuestion(tx, question))) throw invalid('/approval_id', 'reference', 'The run has no such question.', { kind: 'approval' });
}
