import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import type { PinnedSkill } from './run-skills.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The run that loads skills, and its tenant. */
export interface LoadingRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

interface NewUses {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly skillIds: readonly string[];
  readonly versions: readonly number[];
}

const countUses = prepared(({ runId, organizationId, workspaceId, skillIds, versions }: ParametersOf<NewUses>) =>
  query
    .with('used', (of) =>
      of
        .insertInto('skill_uses')
        .columns(['runId', 'skillId', 'organizationId', 'workspaceId', 'version', 'createdAt'])
        .expression(
          query
            .selectFrom(
              sql<{ skillId: string; version: number }>`unnest(${skillIds}::uuid[], ${versions}::int[])`.as<'pin'>(
                sql`pin (skill_id, version)`,
              ),
            )
            .select([sql<string>`${runId}::uuid`.as('runId'), 'pin.skillId', sql<string>`${organizationId}::uuid`.as('organizationId')])
            .select([sql<string>`${workspaceId}::uuid`.as('workspaceId'), 'pin.version', sql<string>`now()`.as('createdAt')]),
        )
        .onConflict((conflict) => conflict.columns(['runId', 'skillId']).doNothing())
        .returning('skillId'),
    )
    .with('counted', (of) =>
      of
        .selectFrom('skills as s')
        .innerJoin('used', 'used.skillId', 's.id')
        .select('s.id')
        .where('s.organizationId', '=', organizationId)
        .orderBy('s.id')
        .forNoKeyUpdate('s'),
    )
    .updateTable('skills')
    .from('counted')
    // A use does not change the skill: its `updatedAt` stays.
    .set((eb) => ({ useCount: eb('skills.useCount', '+', 1), lastUsedAt: sql<string>`now()`, updatedAt: eb.ref('skills.updatedAt') }))
    .whereRef('skills.id', '=', 'counted.id'),
);

/**
 * Records that a run has loaded skills: those in its prompt when it begins, others when the model asks for them. Each counts once per run, however often it is
 * loaded; uses of platform rows are counted when they are read.
 */
export async function recordSkillUse(
  tx: Pick<TenantTransaction, 'em'>,
  run: LoadingRun,
  used: readonly Pick<PinnedSkill, 'skill_id' | 'version'>[],
): Promise<void> {
  if (used.length === 0) return;
  const of = { runId: run.id, organizationId: run.organization_id, workspaceId: run.workspace_id };
  const pins = { skillIds: used.map((pin) => pin.skill_id), versions: used.map((pin) => pin.version) };
  await change(tx.em, countUses({ ...of, ...pins }));
}
