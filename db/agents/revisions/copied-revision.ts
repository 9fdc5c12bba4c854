import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { AgentRow } from '../agents.ts';
import type { PersonaRow } from '../personas/personas.ts';
import type { RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** The parts of a persona that are copied. */
export type CopiedPersona = Pick<PersonaRow, 'slug' | 'document' | 'is_default' | 'is_active'>;

/** What is copied or exported of an agent besides its own row; the document is null when the agent has no revision. */
export interface CopiedParts {
  readonly document: RevisionDocument | null;
  /** By slug. */
  readonly personas: readonly CopiedPersona[];
}

/**
 * Returns the document of the requested revision, else of the active one, else of the newest, and the personas of an agent that the caller may see, in one
 * statement. The document is also null when the requested revision belongs to another agent.
 */
export async function findCopiedParts(
  ctx: Pick<Scoped, 'em'>,
  agent: Pick<AgentRow, 'id' | 'active_revision_id'>,
  revisionId: string | null,
): Promise<CopiedParts> {
  const wanted = revisionId ?? agent.active_revision_id;
  const found = await row<{ document: RevisionDocument | null; personas: CopiedPersona[] }>(
    ctx.em,
    `select (select v.document from agent_revisions v where v.agent_id = ? and (?::uuid is null or v.id = ?::uuid) order by v.number desc limit 1) as document,
            (select coalesce(jsonb_agg(jsonb_build_object('slug', p.slug, 'document', p.document, 'is_default', p.is_default, 'is_active', p.is_active)
               order by p.slug), '[]') from personas p where p.agent_id = ? and p.deleted_at is null) as personas`,
    [agent.id, wanted, wanted, agent.id],
  );
  const { document = null, personas = [] } = found ?? {};
  return { document: document && upgradeDocument(document), personas };
}
