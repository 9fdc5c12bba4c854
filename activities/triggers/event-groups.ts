import { databaseTime } from '../../db/database-time.ts';
import { readEventGroup, readLiveTrigger, type LiveTrigger } from '../../db/events/match-queries.ts';
import type { GroupKey } from '../../db/webhooks/group-queries.ts';
import { seenEvent } from '../../domain/events/fan-out.ts';
import { closeEventGroup, failEventGroup, type EventGroupClose } from '../../domain/events/groups.ts';
import { takeDueGroup } from '../../domain/webhooks/groups.ts';
import { fillTrigger } from '../../ports/event-texts.ts';
import { TemplateError } from '../../ports/templates.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import type { GroupStep } from '../../workflows/contracts/webhooks.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** What the activities of events work with. */
export interface EventDeps extends Pick<ActivityDeps, 'db' | 'dispatch' | 'templates'> {
  readonly env: Pick<ActivityDeps['env'], 'billingCurrency'>;
}

/** Closes the next group of events of a key, if one is due: once, whoever repeats it. */
export async function closeNextEvents(deps: EventDeps, key: GroupKey): Promise<GroupStep> {
  const { trigger, taken } = await transactAsSystem(deps, async (tx) => {
    const found = await readLiveTrigger(tx, key.ownerId);
    return { trigger: found, taken: await takeDueGroup(tx, found, key) };
  });
  if (taken.state !== 'taken') return taken;
  if (trigger === null) return { state: 'idle' };

  const { groupId } = taken;
  try {
    const close = await fillGroup(deps, trigger, groupId);
    if (close !== null) await transactAsSystem(deps, (tx) => closeEventGroup(tx, trigger, close));
  } catch (error) {
    // What no further try can mend ends the group, so that it keeps no later one from closing.
    const failure = error instanceof TemplateError ? fail('validation_failed', { reason: 'template_limit' }) : error;
    if (!(failure instanceof Failure) || failure.retryable) throw error;
    await transactAsSystem(deps, (tx) => failEventGroup(tx, groupId, failure));
  }
  return { state: 'closed' };
}

/** Fills the templates for a group outside of any transaction; null: it has been closed. */
async function fillGroup(deps: EventDeps, trigger: LiveTrigger, groupId: string): Promise<EventGroupClose | null> {
  const payload = trigger.coalescing?.payload ?? 'last';
  const { group, now } = await readAsSystem(deps, async (tx) => ({
    group: await readEventGroup(tx, groupId, payload),
    now: await databaseTime(tx.em),
  }));
  const newest = group?.used.at(-1);
  if (!group || !newest) return null;

  const items = payload === 'all' ? { items: group.used.map(({ event }) => seenEvent(event)) } : {};
  const templates = deps.templates.of(tenantOfActivity().organizationId);
  const texts = await fillTrigger(templates, trigger, { event: seenEvent(newest.event), now, ...items });
  const run = { cause: group.cause, texts, currency: deps.env.billingCurrency };
  return { groupId, usedIds: group.used.map(({ matchId }) => matchId), run };
}
