import type { PersonaDocument } from '../../agents/personas/persona-document.ts';
import type { RevisionDocument } from '../../agents/revisions/revision-document.ts';
import { row, rows } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest, PinnedWarning } from './manifest.ts';
import type { RunState } from '../run-state.ts';

/** What a run begins with: its agent, revision, workspace and persona. */
export interface SourceRow {
  readonly document: RevisionDocument;
  readonly revision_number: number;
  readonly agent_name: string;
  readonly agent_description: string | null;
  readonly workspace_slug: string;
  readonly workspace_name: string;
  readonly workspace_timezone: string;
  readonly persona: { readonly id: string; readonly version: number; readonly document: PersonaDocument } | null;
}

/**
 * Returns what a run begins with, or null when its agent is deleted. If the run's persona was deactivated meanwhile, the agent's default persona applies;
 * falling back to none would restore everything that both personas take away.
 */
export function readSource(tx: TenantTransaction, run: RunState): Promise<SourceRow | null> {
  return row<SourceRow>(
    tx.em,
    `select v.document, v.number as revision_number, a.name as agent_name, a.description as agent_description,
            w.slug as workspace_slug, w.name as workspace_name, w.timezone as workspace_timezone,
            (select jsonb_build_object('id', p.id, 'version', p.version, 'document', p.document) from personas p
              where p.agent_id = a.id and p.is_active and p.deleted_at is null and ?::text is not null and (p.slug = ?::text or p.is_default)
              order by p.slug = ?::text desc limit 1) as persona
       from agent_revisions v join agents a on a.id = v.agent_id join workspaces w on w.id = ?
      where v.id = ? and v.agent_id = ? and a.deleted_at is null`,
    [run.persona_slug, run.persona_slug, run.persona_slug, run.workspace_id, run.agent_revision_id, run.agent_id],
  );
}

/** Moves a queued run to running and stores what it keeps until its end. Returns its start time, or null when it was no longer queued. */
export async function writeBegun(
  tx: TenantTransaction,
  runId: string,
  {
    personaSlug,
    manifest,
    warnings,
  }: { readonly personaSlug: string | null; readonly manifest: Manifest; readonly warnings: readonly PinnedWarning[] },
): Promise<string | null> {
  const started = await row<{ started_at: string }>(
    tx.em,
    `update runs set status = 'running', started_at = clock_timestamp(), persona_slug = ?, manifest = ?::jsonb, warnings = warnings || ?::jsonb, updated_at = now()
      where id = ? and status = 'queued' returning started_at`,
    [personaSlug, JSON.stringify(manifest), JSON.stringify(warnings), runId],
  );
  return started?.started_at ?? null;
}

/** One input of a run that is about to begin. */
export interface PendingInput {
  readonly id: string;
  readonly origin: 'user' | 'system' | 'injected';
  readonly content: ContentBlock[];
}

/** Returns the inputs of a run that has not begun, in order. */
export function readPendingInputs(tx: TenantTransaction, runId: string): Promise<PendingInput[]> {
  return rows<PendingInput>(
    tx.em,
    `select id, origin, content from messages where run_id = ? and role = 'user' and state = 'pending' order by pos`,
    [runId],
  );
}
