import { Decimal } from 'decimal.js';
import type { FrameData } from '../../streams/frame.schema.ts';

type RunLimits = FrameData<'run.started'>['limits'];

/** Limits of each run of a revision. */
export interface RevisionLimits extends RunLimits {
  readonly max_tool_calls: number;
}

/** Returns limits with defaults for what is omitted; limits stored by an older release lack fields that were added later. */
export function completeLimits(draft: Partial<RevisionLimits>): RevisionLimits {
  return {
    max_steps: draft.max_steps ?? 50,
    max_duration_s: draft.max_duration_s ?? 3_600,
    max_output_tokens: draft.max_output_tokens ?? null,
    max_cost: draft.max_cost ?? null,
    max_children: draft.max_children ?? 20,
    max_depth: draft.max_depth ?? 3,
    approval_ttl_s: draft.approval_ttl_s ?? 86_400,
    on_expiry: draft.on_expiry ?? 'deny',
    on_budget: draft.on_budget ?? 'fail',
    max_tool_calls: draft.max_tool_calls ?? 200,
  };
}

/** Returns the lower of two layers, limit by limit. What happens at an expiry or a full budget is not a limit: there the narrower layer decides. */
export function narrowedLimits(limits: RevisionLimits, asked: Partial<RevisionLimits>): RevisionLimits {
  return {
    max_steps: Math.min(limits.max_steps, asked.max_steps ?? limits.max_steps),
    max_duration_s: Math.min(limits.max_duration_s, asked.max_duration_s ?? limits.max_duration_s),
    max_output_tokens: lower(limits.max_output_tokens, asked.max_output_tokens, Math.min),
    max_cost: lower(limits.max_cost, asked.max_cost, lowerCost),
    max_children: Math.min(limits.max_children, asked.max_children ?? limits.max_children),
    max_depth: Math.min(limits.max_depth, asked.max_depth ?? limits.max_depth),
    approval_ttl_s: Math.min(limits.approval_ttl_s, asked.approval_ttl_s ?? limits.approval_ttl_s),
    on_expiry: asked.on_expiry ?? limits.on_expiry,
    on_budget: asked.on_budget ?? limits.on_budget,
    max_tool_calls: Math.min(limits.max_tool_calls, asked.max_tool_calls ?? limits.max_tool_calls),
  };
}

/** Null means no limit. */
function lower<T>(own: T | null, asked: T | null | undefined, least: (left: T, right: T) => T): T | null {
  if (own === null) return asked ?? null;
  return asked === null || asked === undefined ? own : least(own, asked);
}

function lowerCost(left: string, right: string): string {
  return new Decimal(right).lessThan(left) ? right : left;
}
