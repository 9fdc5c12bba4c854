import { Decimal } from 'decimal.js';
import { newId } from '../../ids.ts';
import type { FrameData } from '../../streams/frame.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import { callKey } from './call-key.ts';
import { insertEntry } from './insert-entry.ts';
import { shareLedger } from './ledger-lock.ts';
import { money } from '../../money.ts';
import type { PinnedPrice, PriceBucket } from '../prices/prices.ts';
import { addToRollup } from './rollups.ts';
import type { BudgetState } from './settle.ts';

/** Tokens and cost of a run or step, as stored in `usage_own`, `usage_subtree` and `run_steps.usage`. Money is a decimal string. */
export type UsageTotals = FrameData<'usage'>['own_total'];

/** Tokens by disjoint bucket. */
export type TokenCounts = UsageTotals['tokens'];

/** The source of a call, for the ledger. */
export interface UsageSource {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly agentRevisionId: string;
  readonly userId: string | null;
  readonly serviceKeyId: string | null;
  readonly step: number;
  readonly attempt: number;
}

export interface ModelUsage {
  readonly model: string;
  readonly provider: string;
  readonly providerRequestId: string | null;
  readonly isFree: boolean;
  readonly tokens: TokenCounts;
  readonly estimated: boolean;
  readonly currency: string;
  readonly reservedAt: Date;
  readonly prices: readonly PinnedPrice[];
}

/** A call that has just been settled: its own totals, and the tightest of the limits above it. */
export interface SettledCall {
  readonly totals: UsageTotals;
  readonly budget: BudgetState | null;
}

/**
 * Settles one model call: writes its ledger row, once per call key and priced by the pinned rows, settles its holds in budgets and caps, and adds it to its
 * rollup. Returns null when the call was already settled. `created_at` is the moment of the entry itself, not the start of its transaction: a bill that
 * waited for the lock of a run that ended meanwhile is dated after that end.
 */
export async function settleModelCall(tx: TenantTransaction, source: UsageSource, usage: ModelUsage): Promise<SettledCall | null> {
  const key = callKey('run', source.runId, source.step, source.attempt);
  const cost = costOf(usage);
  const id = newId();
  await shareLedger(tx.em, source.workspaceId);
  const { organizationId, workspaceId, runId, agentId, agentRevisionId, userId, serviceKeyId, step, attempt } = source;
  const made = { organizationId, workspaceId, runId, agentId, agentRevisionId, userId, serviceKeyId, step, attempt };
  const call = { id, callKey: key, sourceKind: 'run', sourceId: runId, kind: 'llm', ...made } as const;
  if (!(await insertEntry(tx, call, { usage, cost }))) return null;
  const budget = await settleBudgets(tx, { callKey: key, workspaceId: source.workspaceId, cost, reservedAt: usage.reservedAt });
  await addToRollup(tx, id);
  const { provider, tokens, currency } = usage;
  tx.outgoing.measurements.push({ kind: 'usage', provider, tokens, cost, aboveEstimate: budget?.aboveEstimate ?? '0', currency });
  return {
    totals: { model_calls: 1, tokens: usage.tokens, cost_amount: money(cost), currency: usage.currency, estimated: usage.estimated },
    budget,
  };
}

/** Returns the sum over the buckets of count × price, rounded up to 9 decimals; reasoning is priced as output unless it has its own price. */
export function costOf(usage: Pick<ModelUsage, 'prices' | 'tokens'>): string {
  const priceOf = (bucket: PriceBucket) => usage.prices.find((price) => price.bucket === bucket)?.price ?? null;
  const output = priceOf('output');
  const parts: [number, string | null][] = [
    [usage.tokens.input, priceOf('input')],
    [usage.tokens.cached_read, priceOf('cached_read') ?? priceOf('input')],
    [usage.tokens.cached_write, priceOf('cached_write') ?? priceOf('input')],
    [usage.tokens.output, output],
    [usage.tokens.reasoning, priceOf('reasoning') ?? output],
  ];
  let cost = new Decimal(priceOf('call') ?? 0);
  for (const [count, price] of parts) if (price !== null) cost = cost.plus(new Decimal(price).times(count).dividedBy(1_000_000));
  return cost.toDecimalPlaces(9, Decimal.ROUND_UP).toFixed(9);
}
