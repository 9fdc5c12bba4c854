import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A skill that a run may load, with its pinned version. */
export interface PinnedSkill {
  readonly skill_id: string;
  readonly version: number;
  readonly slug: string;
  readonly description: string;
  readonly mode: 'on_demand' | 'always';
}

/** A pinned skill with its documents. `isOpen` is read live: a retired, deleted or inactive skill can't be loaded anywhere. */
export type LoadableText = NonNullable<Awaited<ReturnType<typeof readLoadable>>>;

const runOfPins = prepared(({ runId }: ParametersOf<{ runId: string }>) =>
  query
    .selectFrom('runs as r')
    .select(({ ref }) => ['r.agentId', sql<readonly PinnedSkill[] | null>`${ref('r.manifest')} -> 'skills'`.as('skills')])
    .where('r.id', '=', runId),
);

/** Returns a run's agent and the skills that it may load, or null when there is no such run. */
export async function readPinnedSkills(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  const found = await row(tx.em, runOfPins({ runId }));
  return found && { agentId: found.agentId, skills: found.skills ?? [] };
}

const loadable = prepared(({ skillId, version }: ParametersOf<{ skillId: string; version: number }>) =>
  query
    .selectFrom('skill_versions as v')
    .innerJoin('skills as s', 's.id', 'v.skillId')
    .select((eb) => [
      'v.instructions',
      'v.referenceDocs',
      eb
        .and([eb('s.isActive', '=', true), eb('s.deletedAt', 'is', null), eb('s.curationState', '<>', 'retired')])
        .$castTo<boolean>()
        .as('isOpen'),
    ])
    .where('v.skillId', '=', skillId)
    .where('v.version', '=', version),
);

/** Returns the text of a pinned skill at its version, or null when the version does not exist. */
export async function readLoadable(tx: Pick<TenantTransaction, 'em'>, pin: Pick<PinnedSkill, 'skill_id' | 'version'>) {
  return row(tx.em, loadable({ skillId: pin.skill_id, version: pin.version }));
}
