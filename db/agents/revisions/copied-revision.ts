import { sql, type SqlBool } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { AgentRow } from '../agents.ts';
import type { PersonaRow } from '../personas/personas.ts';
import type { RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** The parts of a persona that are copied. */
export type CopiedPersona = Pick<PersonaRow, 'slug' | 'document' | 'isDefault' | 'isActive'>;

/** What is copied or exported of an agent besides its own row; the document is null when the agent has no revision. */
export interface CopiedParts {
  readonly document: RevisionDocument | null;
  /** By slug. */
  readonly personas: readonly CopiedPersona[];
}

const copiedParts = prepared(({ agentId, wanted }: ParametersOf<{ readonly agentId: string; readonly wanted: string | null }>) =>
  query.selectNoFrom(({ selectFrom }) => [
    selectFrom('agent_revisions as v')
      .select('v.document')
      .where('v.agentId', '=', agentId)
      .where(sql<SqlBool>`(${wanted}::uuid is null or v.id = ${wanted}::uuid)`)
      .orderBy('v.number', 'desc')
      .limit(sql.lit(1))
      .as('document'),
    sql<CopiedPersona[]>`(
      select coalesce(jsonb_agg(jsonb_build_object('slug', p.slug, 'document', p.document, 'isDefault', p.is_default, 'isActive', p.is_active) order by p.slug), '[]')
        from personas p where p.agent_id = ${agentId} and p.deleted_at is null)`.as('personas'),
  ]),
);

/**
 * Returns the document of the requested revision, else of the active one, else of the newest, and the personas of an agent that the caller may see, in one
 * statement. The document is also null when the requested revision belongs to another agent.
 */
export async function findCopiedParts(
  ctx: Pick<Scoped, 'em'>,
  agent: Pick<AgentRow, 'id' | 'activeRevisionId'>,
  revisionId: string | null,
): Promise<CopiedParts> {
  const found = await row(ctx.em, copiedParts({ agentId: agent.id, wanted: revisionId ?? agent.activeRevisionId }));
  const { document = null, personas = [] } = found ?? {};
  return { document: document && upgradeDocument(document), personas };
}
