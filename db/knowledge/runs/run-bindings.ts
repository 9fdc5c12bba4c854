import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { PinnedKnowledge } from '../../runs/start/manifest.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunPrincipal } from '../bases/access.ts';

/** A run that uses knowledge, with the bases pinned by its revision and persona. */
export interface KnowledgeRun {
  readonly principal: RunPrincipal;
  readonly pins: readonly PinnedKnowledge[];
}

const runOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .where('r.id', '=', runId)
    .select(['r.organizationId', 'r.workspaceId', 'r.agentId', 'r.subjectKind', 'r.subjectId'])
    .select(({ ref }) => [
      sql<PinnedKnowledge[] | null>`${ref('r.manifest')} -> 'knowledge'`.as('pins'),
      sql<string | null>`${ref('r.manifest')} -> 'persona' ->> 'id'`.as('personaId'),
    ]),
);

/** Returns what determines the bases of a run: its agent, persona, subject and bindings; null when the run does not exist. */
export async function readKnowledgeRun(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<KnowledgeRun | null> {
  const found = await row(tx.em, runOf({ runId }));
  if (!found) return null;
  const { organizationId, workspaceId, agentId, personaId, subjectKind: kind, subjectId: id } = found;
  const pins = found.pins ?? [];
  return {
    principal: {
      organizationId,
      workspaceId,
      agentId,
      personaId,
      subject: kind === null || id === null ? null : { kind, id },
      bindings: pins.map((pin) => ({ kbId: pin.id, access: pin.access })),
    },
    pins,
  };
}
