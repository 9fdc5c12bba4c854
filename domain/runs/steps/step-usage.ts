import type { BudgetState } from '../../../db/billing/ledger/settle.ts';
import { money } from '../../../db/money.ts';
import {
  settleModelCall,
  type ModelUsage,
  type SettledCall,
  type UsageSource,
  type UsageTotals,
} from '../../../db/billing/ledger/usage.ts';
import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import { addUsage } from '../../../db/runs/steps/usage-totals.ts';
import { writeUsage, writeSubtrees, writeStepUsage } from '../../../db/runs/steps/usage-rows.ts';

/** A run and its ancestors, all locked (`lockRunWithAncestors`). */
export interface RunWithAncestors {
  readonly run: RunState;
  readonly ancestors: readonly RunState[];
}

/** One try of a step that may have cost something. */
export interface StepCall {
  readonly step: number;
  readonly attempt: number;
  readonly usage: ModelUsage;
}

export interface StepTotals {
  readonly call: UsageTotals;
  readonly own: UsageTotals;
  readonly subtree: UsageTotals;
  /** The tightest limit above the run; null: none. */
  readonly budget: BudgetState | null;
}

/** Adds a settled call to the run's own totals and to the subtree totals of the run and all its ancestors; returns null when it has been settled before. */
export async function settleStepUsage(
  tx: TenantTransaction,
  { run, ancestors }: RunWithAncestors,
  { step, attempt, usage }: StepCall,
): Promise<SettledCall | null> {
  const settled = await settleModelCall(tx, sourceOf(run, step, attempt), usage);
  if (settled === null) return null;
  const { totals: call } = settled;
  await writeUsage(tx, run.id, { own: addUsage(run.usage_own, call), subtree: addUsage(run.usage_subtree, call) });
  await writeSubtrees(
    tx,
    ancestors.map(({ id, usage_subtree: subtree }) => ({ id, subtree: addUsage(subtree, call) })),
  );
  return settled;
}

/** Does the same for a completely stored step, and writes the cost into its row. */
export async function settleStep(tx: TenantTransaction, runs: RunWithAncestors, stepCall: StepCall): Promise<StepTotals | null> {
  const settled = await settleStepUsage(tx, runs, stepCall);
  if (settled === null) return null;
  const { totals: call, budget } = settled;
  const { run } = runs;
  await writeStepUsage(tx, { runId: run.id, step: stepCall.step }, call);
  return { call, own: addUsage(run.usage_own, call), subtree: addUsage(run.usage_subtree, call), budget };
}

/** The cost of a step, and the totals of the run and everything below it so far. */
export function usageFrame(result: StepCall & { readonly model: string }, totals: StepTotals): FrameDraft {
  return {
    type: 'usage',
    data: {
      step: result.step,
      model: result.model,
      provider: result.usage.provider,
      tokens: totals.call.tokens,
      cost: { amount: totals.call.cost_amount, currency: totals.call.currency, estimated: totals.call.estimated },
      own_total: totals.own,
      subtree_total: totals.subtree,
      budget: totals.budget && budgetPart(totals.budget),
    },
  };
}

function budgetPart({ period, limit, spent, reserved, pct, isCrossed }: BudgetState) {
  return { period, limit: money(limit), spent: money(spent), reserved: money(reserved), pct, threshold_crossed: isCrossed };
}

function sourceOf(run: RunState, step: number, attempt: number): UsageSource {
  return {
    organizationId: run.organization_id,
    workspaceId: run.workspace_id,
    runId: run.id,
    agentId: run.agent_id,
    agentRevisionId: run.agent_revision_id,
    userId: run.created_by_acting_user_id ?? (run.created_by_kind === 'user' ? run.created_by_id : null),
    serviceKeyId: run.created_by_kind === 'service_key' ? run.created_by_id : null,
    step,
    attempt,
  };
}
