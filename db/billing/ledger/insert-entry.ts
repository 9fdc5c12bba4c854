import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { standardTier } from '../prices/prices.ts';
import type { UsageEntry } from './usage-entry.entity.ts';
import type { ModelUsage } from './usage.ts';

/** What a call was and for whom it was made. */
type CallColumns = Pick<
  UsageEntry,
  | 'id'
  | 'organizationId'
  | 'workspaceId'
  | 'callKey'
  | 'sourceKind'
  | 'sourceId'
  | 'runId'
  | 'agentId'
  | 'agentRevisionId'
  | 'userId'
  | 'serviceKeyId'
  | 'step'
  | 'attempt'
  | 'kind'
>;

type EntryColumns = CallColumns &
  Omit<ModelUsage, 'isFree' | 'tokens' | 'prices'> &
  Pick<UsageEntry, 'inputTokens' | 'cachedReadTokens' | 'cachedWriteTokens' | 'outputTokens' | 'reasoningTokens' | 'cost'> &
  Pick<UsageEntry, 'unpriced' | 'priceIds' | 'correlationId'>;

const inserting = prepared(({ priceIds, ...entry }: ParametersOf<EntryColumns>) =>
  query
    .insertInto('usage_entries')
    .values({
      ...entry,
      tier: standardTier,
      units: null,
      priceIds: sql<string[]>`${priceIds}::uuid[]`,
      occurredAt: sql<string>`now()`,
      createdAt: sql<string>`clock_timestamp()`,
    })
    .onConflict((conflict) => conflict.columns(['callKey', 'kind']).doNothing())
    .returning('id'),
);

/** Writes the ledger row of a call to a model. Returns false when its key already has one. */
export async function insertEntry(
  tx: TenantTransaction,
  call: CallColumns,
  { usage, cost }: { readonly usage: ModelUsage; readonly cost: string },
): Promise<boolean> {
  const { model, provider, providerRequestId, isFree, tokens, estimated, currency, reservedAt, prices } = usage;
  const inserted = await row(
    tx.em,
    inserting({
      ...call,
      model,
      provider,
      providerRequestId,
      inputTokens: tokens.input,
      cachedReadTokens: tokens.cached_read,
      cachedWriteTokens: tokens.cached_write,
      outputTokens: tokens.output,
      reasoningTokens: tokens.reasoning,
      cost,
      currency,
      estimated,
      unpriced: !isFree && prices.length === 0,
      priceIds: prices.map(({ id }) => id),
      reservedAt,
      correlationId: tx.correlationId,
    }),
  );
  return inserted !== null;
}
