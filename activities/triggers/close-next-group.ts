import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { GroupKey } from '../../db/webhooks/group-queries.ts';
import type { Hook } from '../../db/webhooks/hooks.ts';
import { takeDueGroup } from '../../domain/webhooks/groups.ts';
import { TemplateError } from '../../ports/templates/templates.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import type { GroupStep } from '../../workflows/contracts/triggers/webhooks.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';

/** What is grouped: deliveries of an endpoint, or events of an event trigger. */
export interface Grouped<Owner, Close> {
  /** Returns the owner of a key; null: it is deleted or inactive. */
  read(tx: TenantTransaction, ownerId: string): Promise<Owner | null>;
  /** Prepares the run of a group, outside any transaction; null: the group has been closed. */
  fill(owner: Owner, groupId: string): Promise<Close | null>;
  close(tx: TenantTransaction, owner: Owner, close: Close): Promise<void>;
  fail(tx: TenantTransaction, owner: Owner, groupId: string, failure: Failure): Promise<void>;
}

/** Closes the next group of a key, if one is due: once, however often it is repeated. */
export async function closeNext<Owner extends Pick<Hook, 'coalescing'>, Close>(
  deps: Pick<ActivityDeps, 'db' | 'dispatch' | 'log'>,
  key: GroupKey,
  grouped: Grouped<Owner, Close>,
): Promise<GroupStep> {
  const { owner, taken } = await transactAsSystem(deps, async (tx) => {
    const found = await grouped.read(tx, key.ownerId);
    return { owner: found, taken: await takeDueGroup(tx, found, key) };
  });
  if (taken.state !== 'taken') return taken;
  if (owner === null) return { state: 'idle' };

  const { groupId } = taken;
  try {
    const close = await grouped.fill(owner, groupId);
    if (close !== null) await transactAsSystem(deps, (tx) => grouped.close(tx, owner, close));
  } catch (error) {
    // An error that no further try can fix ends the group, so that it does not keep later ones from closing.
    const failure = error instanceof TemplateError ? fail('validation_failed', { reason: 'template_limit' }) : error;
    if (!(failure instanceof Failure) || failure.retryable) throw error;
    await transactAsSystem(deps, (tx) => grouped.fail(tx, owner, groupId, failure));
    // No caller waits for a reply that would report it.
    deps.log.warn({ owner_id: key.ownerId, group_id: groupId, code: failure.code, reason: failure.context['reason'] }, 'group failed');
  }
  return { state: 'closed' };
}
