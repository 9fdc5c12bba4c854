import { writeFindings, type NewFinding } from '../../../db/knowledge/upkeep/write-findings.ts';
import { nextItemIds } from '../../../db/knowledge/upkeep/integrity.ts';
import { findStaleItems } from '../../../db/knowledge/upkeep/stale-items.ts';
import { shareForWriting, type TaskBatch } from './maintenance.ts';

const atOnce = 500;

/** Task `decay`: a finding for each item past its validity, or unused for as long as the policy says. The search applies decay to scores. */
export async function decayStep({ run, cursor, itemIds, policy, tools, commit }: TaskBatch): Promise<void> {
  await commit(async (tx) => {
    const base = await shareForWriting(tx, run.kbId);
    const ids = await nextItemIds(tx, base.id, { after: cursor.after, ids: itemIds, limit: atOnce });
    const stale = await findStaleItems(tx, ids, { now: tools.now(), staleAfterDays: policy.staleAfterDays });
    const found = stale.map(({ id, reason, since, hash }): NewFinding => ({
      kind: 'stale',
      fingerprint: `${id}:${reason}:${new Date(since).toISOString()}`,
      itemIds: [id],
      detail: { reason, since: new Date(since).toISOString(), hashes: { [id]: hash } },
    }));
    const open = run.dryRun ? [] : await writeFindings(tx, run, found);
    const last = ids.at(-1);
    const next = last !== undefined && ids.length === atOnce ? { stage: null, after: last } : null;
    return { next, done: ids.length, counts: { stale_found: found.length, findings: open.length } };
  });
}
