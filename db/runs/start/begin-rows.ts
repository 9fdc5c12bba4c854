import { sql } from 'kysely';
import type { PersonaDocument } from '../../agents/personas/persona-document.ts';
import { clockTime, now } from '../../expressions.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { queued } from '../live.ts';
import type { RunState } from '../run-state.ts';
import type { Manifest, PinnedWarning } from './manifest.ts';

/** What a run begins with: its agent, revision, workspace and persona. */
export type SourceRow = NonNullable<Awaited<ReturnType<typeof readSource>>>;

interface SourceAsk {
  readonly agentId: string;
  readonly revisionId: string;
  readonly workspaceId: string;
  readonly personaSlug: string | null;
}

const sourceOf = prepared(({ agentId, revisionId, workspaceId, personaSlug: slug }: ParametersOf<SourceAsk>) =>
  query
    .selectFrom('agent_revisions as v')
    .innerJoin('agents as a', 'a.id', 'v.agentId')
    .innerJoin('workspaces as w', (join) => join.on('w.id', '=', workspaceId))
    .where('v.id', '=', revisionId)
    .where('v.agentId', '=', agentId)
    .where('a.deletedAt', 'is', null)
    .select(['v.document', 'v.number as revisionNumber', 'a.name as agentName', 'a.description as agentDescription'])
    .select(['w.slug as workspaceSlug', 'w.name as workspaceName', 'w.timezone as workspaceTimezone'])
    .select(
      sql<{ readonly id: string; readonly version: number; readonly document: PersonaDocument } | null>`(
        select jsonb_build_object('id', p.id, 'version', p.version, 'document', p.document) from personas p
         where p.agent_id = a.id and p.is_active and p.deleted_at is null and ${slug}::text is not null and (p.slug = ${slug}::text or p.is_default)
         order by p.slug = ${slug}::text desc limit 1)`.as('persona'),
    ),
);

/**
 * Returns what a run begins with, or null when its agent is deleted. If the run's persona was deactivated meanwhile, the agent's default persona applies;
 * falling back to none would restore everything that both personas take away.
 */
export function readSource(tx: TenantTransaction, run: RunState) {
  const { agent_id: agentId, agent_revision_id: revisionId, workspace_id: workspaceId, persona_slug: personaSlug } = run;
  return row(tx.em, sourceOf({ agentId, revisionId, workspaceId, personaSlug }));
}

interface Begun {
  readonly id: string;
  readonly personaSlug: string | null;
  readonly manifest: JsonText<Manifest>;
  readonly warnings: JsonText<readonly PinnedWarning[]>;
}

const begin = prepared(({ id, personaSlug, manifest, warnings }: ParametersOf<Begun>) =>
  query
    .updateTable('runs')
    .set({
      status: 'running',
      startedAt: clockTime,
      personaSlug,
      manifest: jsonb(manifest),
      warnings: sql<PinnedWarning[]>`warnings || ${warnings}::jsonb`,
      updatedAt: now,
    })
    .where('id', '=', id)
    .where('status', '=', queued)
    .returning('startedAt'),
);

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
  const begun = { id: runId, personaSlug, manifest: jsonText(manifest), warnings: jsonText(warnings) };
  return (await row(tx.em, begin(begun)))?.startedAt ?? null;
}

const pendingInputs = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('messages')
    .select(['id', 'origin', 'content'])
    .where('runId', '=', runId)
    .where('role', '=', sql.lit('user'))
    .where('state', '=', sql.lit('pending'))
    .orderBy('pos'),
);

/** Returns the inputs of a run that has not begun, in order. */
export function readPendingInputs(tx: TenantTransaction, runId: string) {
  return rows(tx.em, pendingInputs({ runId }));
}
