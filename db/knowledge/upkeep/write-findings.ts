import { newId } from '../../ids.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeFindingKind } from './knowledge-finding.entity.ts';
import type { KnowledgeRun } from '../runs/knowledge-run.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** An observation of a task. */
export interface NewFinding {
  readonly kind: KnowledgeFindingKind;
  /** Identifies equal observations, within base and kind, as one finding. */
  readonly fingerprint: string;
  readonly itemIds: readonly string[];
  readonly score?: number;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Writes findings of a run. An existing finding stays as it is, unless a repair had resolved it and it has occurred again. Returns the ids and fingerprints
 * of findings that are newly open.
 */
export function writeFindings(
  tx: Tx,
  { id: runId, kbId, organizationId, workspaceId }: Pick<KnowledgeRun, 'id' | 'kbId' | 'organizationId' | 'workspaceId'>,
  findings: readonly NewFinding[],
): Promise<{ id: string; fingerprint: string }[]> {
  if (findings.length === 0) return Promise.resolve([]);
  const made = findings.map(({ itemIds, score, ...rest }) => ({ id: newId(), item_ids: itemIds, score: score ?? null, ...rest }));
  return rows(
    tx.em,
    `insert into knowledge_findings as k (id, kb_id, organization_id, workspace_id, run_id, kind, fingerprint, state, item_ids, score, detail)
     select f.id, ?::uuid, ?::uuid, ?::uuid, ?::uuid, f.kind, f.fingerprint, 'open', f.item_ids, f.score, f.detail
       from jsonb_to_recordset(?::jsonb) as f (id uuid, kind text, fingerprint text, item_ids uuid[], score float8, detail jsonb) order by f.kind, f.fingerprint
     on conflict (kb_id, kind, fingerprint) do update
       set state = 'open', run_id = excluded.run_id, detail = excluded.detail, resolved_at = null, resolved_by = null, updated_at = now(), version = k.version + 1
       where k.state = 'resolved' and k.resolution is null
     returning k.id, k.fingerprint`,
    [kbId, organizationId, workspaceId, runId, JSON.stringify(made)],
  );
}

/** Resolves the open findings with these fingerprints, whose cause a repair has removed. */
export async function resolveRepaired(tx: Tx, kbId: string, fingerprints: readonly string[]): Promise<void> {
  if (fingerprints.length === 0) return;
  await change(
    tx.em,
    `update knowledge_findings set state = 'resolved', resolved_by = '{"kind":"system","id":null}', resolved_at = now(), updated_at = now(), version = version + 1
      where kb_id = ? and state = 'open' and kind in ('integrity', 'orphan') and fingerprint = any (?::text[])`,
    [kbId, [...fingerprints]],
  );
}
