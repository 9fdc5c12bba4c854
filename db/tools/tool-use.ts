import { dropOwnSecrets } from '../secrets/secret-aim.ts';
import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';

const mostNamed = 20;

/** Ids of at most 20 agents whose active revision binds the tool. */
export async function agentsUsing(unit: Pick<Unit, 'em'>, toolId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    unit.em,
    `select a.id from agent_refs r join agents a on a.active_revision_id = r.revision_id
      where r.kind = 'tool' and r.target_id = ? and a.deleted_at is null order by a.id limit ${mostNamed}`,
    [toolId],
  );
  return found.map(({ id }) => id);
}

/** Takes a tool out of every later run, and its own secret values with it. */
export async function deleteToolRow(unit: Unit, tool: { readonly id: string; deletedAt: Date | string | null }): Promise<void> {
  tool.deletedAt = new Date();
  await unit.em.flush();
  await dropOwnSecrets(unit, [tool.id]);
}
