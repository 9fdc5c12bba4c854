import { newId } from '../../ids.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KeyedBill } from './call-bill.ts';
import { shareLedger } from './ledger-lock.ts';
import { standardTier, type PinnedPrice } from '../prices/prices.ts';
import { addToRollup } from './rollups.ts';
import type { TokenCounts } from '../../runs/run-types.ts';
import { costOf } from './usage.ts';

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
  const inserted = await rows(
    tx.em,
    `insert into usage_entries (id, organization_id, workspace_id, occurred_at, created_at, call_key, source_kind, source_id, attempt, kind, model, provider, tier,
       provider_request_id, input_tokens, cached_read_tokens, cached_write_tokens, output_tokens, reasoning_tokens, cost, currency, estimated, unpriced, price_ids,
       reserved_at, correlation_id)
     values (?, ?, ?, now(), clock_timestamp(), ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::uuid[], ?, ?)
     on conflict (call_key, kind) do nothing returning id`,
    [
      id,
      usage.organizationId,
      usage.workspaceId,
      usage.callKey,
      usage.source.kind,
      usage.source.id,
      usage.kind,
      usage.model,
      usage.provider,
      standardTier,
      usage.providerRequestId,
      tokens.input,
      tokens.cached_read,
      tokens.cached_write,
      tokens.output,
      tokens.reasoning,
      cost,
      usage.currency,
      usage.estimated,
      !usage.isFree && usage.prices.length === 0,
      usage.prices.map((price) => price.id),
      usage.reservedAt,
      tx.correlationId,
    ],
  );
  if (inserted.length === 0) return;
  const budget = await settleBudgets(tx, { callKey: usage.callKey, workspaceId: usage.workspaceId, cost, reservedAt: usage.reservedAt });
  await addToRollup(tx, id);
  const { provider, currency } = usage;
  tx.outgoing.measurements.push({ kind: 'usage', provider, tokens, cost, aboveEstimate: budget?.above_estimate ?? '0', currency });
}
