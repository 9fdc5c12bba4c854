import { rebuildDay } from '../../db/billing/ledger/rebuild-rollups.ts';
import type { Databases } from '../../db/databases.ts';
import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';

/** A ledger row of a test; what is not named is that of a call to a model which cost nothing. */
export interface LedgerDraft {
  readonly occurredAt?: string;
  readonly cost?: string;
  readonly currency?: string;
  readonly kind?: string;
  readonly agentId?: string | null;
  readonly runId?: string | null;
  readonly userId?: string | null;
  readonly serviceKeyId?: string | null;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly providerRequestId?: string | null;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly estimated?: boolean;
  readonly units?: string | null;
}

interface LedgerPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Writes ledger rows as calls of another time would have left them, with their rollups; gives their ids. */
export async function seedLedger(
  db: Databases,
  { organizationId, workspaceId }: LedgerPlace,
  drafts: readonly LedgerDraft[],
): Promise<string[]> {
  const entries = drafts.map((draft) => ({
    id: newId(),
    call_key: `test:${newId()}`,
    occurred_at: draft.occurredAt ?? new Date().toISOString(),
    source_id: newId(),
    run_id: draft.runId ?? null,
    agent_id: draft.agentId ?? null,
    user_id: draft.userId ?? null,
    service_key_id: draft.serviceKeyId ?? null,
    kind: draft.kind ?? 'llm',
    model: draft.model === undefined ? 'compatible/scripted' : draft.model,
    provider: draft.provider ?? 'compatible',
    provider_request_id: draft.providerRequestId ?? null,
    input_tokens: draft.inputTokens ?? 0,
    output_tokens: draft.outputTokens ?? 0,
    units: draft.units ?? null,
    cost: draft.cost ?? '0',
    currency: draft.currency ?? 'USD',
    estimated: draft.estimated ?? false,
  }));
  await sweep(db, async (em) => {
    await rows(
      em,
      `insert into usage_entries (id, organization_id, workspace_id, call_key, occurred_at, reserved_at, source_kind, source_id, run_id, agent_id, user_id, service_key_id, kind,
         model, provider, provider_request_id, input_tokens, output_tokens, units, cost, currency, estimated)
       select e.id, ?, ?, e.call_key, e.occurred_at, e.occurred_at, 'run', e.source_id, e.run_id, e.agent_id, e.user_id, e.service_key_id, e.kind, e.model, e.provider,
              e.provider_request_id, e.input_tokens, e.output_tokens, e.units, e.cost, e.currency, e.estimated
         from jsonb_to_recordset(?::jsonb) as e(id uuid, call_key text, occurred_at timestamptz, source_id uuid, run_id uuid, agent_id uuid, user_id uuid, service_key_id uuid,
              kind text, model text, provider text, provider_request_id text, input_tokens bigint, output_tokens bigint, units numeric, cost numeric, currency text, estimated boolean)`,
      [organizationId, workspaceId, JSON.stringify(entries)],
    );
    const days = new Set(entries.map((entry) => new Date(entry.occurred_at).toISOString().slice(0, 10)));
    for (const day of days) await rebuildDay(em, { workspaceId, day });
  });
  return entries.map(({ id }) => id);
}

/** Where the rollups of a workspace differ from its ledger, summed up by their keys; none: they are equal to the last decimal. */
export function rollupFaults(db: Databases, workspaceId: string): Promise<object[]> {
  const keys = 'agent_id, model, kind, user_id, service_key_id, currency';
  const sums = ['input_tokens', 'cached_read_tokens', 'cached_write_tokens', 'output_tokens', 'reasoning_tokens', 'cost'];
  const added = sums.map((name) => `sum(${name}) as ${name}`).join(', ');
  const ledger = `select date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00Z') as bucket, ${keys}, ${added}, count(*) filter (where kind <> 'adjustment') as calls,
                    coalesce(sum(cost) filter (where estimated), 0) as estimated_cost from usage_entries where workspace_id = ? group by 1, ${keys}`;
  const rollups = `select bucket_start as bucket, ${keys}, ${sums.join(', ')}, calls, estimated_cost from usage_rollups where workspace_id = ?`;
  return sweep(db, (em) =>
    rows(em, `(${ledger} except all ${rollups}) union all (${rollups} except all ${ledger})`, [
      workspaceId,
      workspaceId,
      workspaceId,
      workspaceId,
    ]),
  );
}
