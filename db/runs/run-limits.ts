import type { RevisionLimits } from '../agents/revision-document.ts';
import type { RunLimits } from './run-types.ts';

/** What a start may ask for; it only lowers what the revision allows. */
export type RunLimitsDraft = Partial<Pick<RunLimits, 'max_steps' | 'max_duration_s' | 'max_output_tokens'>>;

/** The limits of a run: the lower of what is asked and what the revision allows. */
export function limitsOfRun(asked: RunLimitsDraft, revision: RevisionLimits): RunLimits {
  return {
    max_steps: Math.min(asked.max_steps ?? revision.max_steps, revision.max_steps),
    max_duration_s: Math.min(asked.max_duration_s ?? revision.max_duration_s, revision.max_duration_s),
    max_output_tokens: lowest(asked.max_output_tokens ?? null, revision.max_output_tokens),
    max_cost: null,
    max_children: 20,
    max_depth: 3,
    approval_ttl_s: 86_400,
    on_expiry: 'deny',
    on_budget: 'fail',
  };
}

function lowest(left: number | null, right: number | null): number | null {
  if (left === null) return right;
  return right === null ? left : Math.min(left, right);
}
