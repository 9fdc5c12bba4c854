import { newId } from '../../ids.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KeyedBill } from './call-bill.ts';
import { insertEntry } from './insert-entry.ts';
import { shareLedger } from './ledger-lock.ts';
import type { PinnedPrice } from '../prices/prices.ts';
import { addToRollup } from './rollups.ts';
import { costOf, type TokenCounts } from './usage.ts';

/** One answered call of an embedding model, and its purpose: work on a base, a search or an evaluation. */
export interface EmbeddingUsage {
  readonly callKey: string;
  readonly source: { readonly kind: 'maintenance' | 'search' | 'evaluation'; readonly id: string };
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly model: string;
  readonly provider: string;
  readonly providerRequestId: string | null;
  readonly isFree: boolean;
  readonly inputTokens: number;
  /** The provider did not report the number of tokens. */
  readonly estimated: boolean;
  readonly currency: string;
  readonly reservedAt: Date;
  readonly prices: readonly PinnedPrice[];
}

/** Settles a call of an embedding model, like `settleOutsideRun`. */
export function settleEmbedding(tx: TenantTransaction, { inputTokens, ...usage }: EmbeddingUsage): Promise<void> {
  const tokens = { input: inputTokens, output: 0, cached_read: 0, cached_write: 0, reasoning: 0 };
  return settleOutsideRun(tx, { ...usage, kind: 'embedding', tokens });
}

/** One call of a model of any kind, made outside a run. */
export interface OutsideUsage extends Omit<EmbeddingUsage, 'inputTokens'> {
  readonly kind: 'embedding' | 'llm';
  readonly tokens: TokenCounts;
}

/** Settles a call of a language model whose worker was lost, by the estimate of its prompt, like `settleOutsideRun`: the provider may have billed it. */
export function settleLostCall(
  tx: TenantTransaction,
  { inputTokens, reservedAt, callKey, model, provider, isFree, currency, prices }: KeyedBill,
  place: Pick<OutsideUsage, 'source' | 'organizationId' | 'workspaceId'>,
): Promise<void> {
  const tokens = { input: inputTokens, output: 0, cached_read: 0, cached_write: 0, reasoning: 0 };
  const bill = { callKey, model, provider, isFree, currency, prices, reservedAt: new Date(reservedAt) };
  return settleOutsideRun(tx, { ...bill, ...place, kind: 'llm', providerRequestId: null, tokens, estimated: true });
}

/** Settles a call: writes its ledger row, once per call key, settles its holds, and adds it to its rollup. Does nothing for a key that was already settled. */
export async function settleOutsideRun(tx: TenantTransaction, usage: OutsideUsage): Promise<void> {
  const { tokens } = usage;
  const id = newId();
  const cost = costOf({ prices: usage.prices, tokens });
  await shareLedger(tx.em, usage.workspaceId);
  const { organizationId, workspaceId, callKey, source, kind } = usage;
  const outsideRun = { runId: null, agentId: null, agentRevisionId: null, userId: null, serviceKeyId: null, step: null, attempt: 1 };
  const call = { id, organizationId, workspaceId, callKey, sourceKind: source.kind, sourceId: source.id, ...outsideRun, kind };
  if (!(await insertEntry(tx, call, { usage, cost }))) return;
  const budget = await settleBudgets(tx, { callKey: usage.callKey, workspaceId: usage.workspaceId, cost, reservedAt: usage.reservedAt });
  await addToRollup(tx, id);
  const { provider, currency } = usage;
  tx.outgoing.measurements.push({ kind: 'usage', provider, tokens, cost, aboveEstimate: budget?.aboveEstimate ?? '0', currency });
}
