import type { Views } from '../app/api.ts';

/** A question of a run to people, from a list or from a stream. */
export interface Question {
  readonly id: string;
  /** The run that lists it: itself or an ancestor will do for the answer. */
  readonly runId: string;
  readonly slug: string | null;
  readonly reason: string;
  readonly prompt: string;
  readonly args: Readonly<Record<string, unknown>> | null;
  readonly argsHash: string | null;
  readonly responseSchema: Readonly<Record<string, unknown>> | null;
  readonly decisions: readonly string[];
  readonly isCritical: boolean;
  readonly floor: 'member' | 'admin';
  readonly expiresAt: string;
  readonly onExpiry: string;
}

export function questionOf(approval: Views['ApprovalView']): Question {
  return {
    id: approval.id,
    runId: approval.root_run_id,
    slug: approval.tool_slug,
    reason: approval.reason,
    prompt: approval.prompt,
    args: approval.args,
    argsHash: approval.args_hash,
    responseSchema: approval.response_schema,
    decisions: approval.decisions,
    isCritical: approval.critical,
    floor: approval.approver_floor === 'admin' ? 'admin' : 'member',
    expiresAt: approval.expires_at,
    onExpiry: approval.on_expiry,
  };
}

/** Whether the answer is one text, as the questions of `ask_user` are. */
export function wantsText(schema: Question['responseSchema']): boolean {
  return schema === null || schema['type'] === 'string';
}
