import { databaseTime } from '../../db/database-time.ts';
import { readEventGroup, readLiveTrigger, type LiveTrigger } from '../../db/events/match-queries.ts';
import type { GroupKey } from '../../db/webhooks/group-queries.ts';
import { seenEvent } from '../../domain/events/fan-out.ts';
import { closeEventGroup, failEventGroup, type EventGroupClose } from '../../domain/events/groups.ts';
import { fillTrigger } from '../../ports/hooks/event-texts.ts';
import type { GroupStep } from '../../workflows/contracts/triggers/webhooks.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { closeNext } from './close-next-group.ts';

/** What the activities of events work with. */
export interface EventDeps extends Pick<ActivityDeps, 'db' | 'dispatch' | 'log' | 'templates'> {
  readonly env: Pick<ActivityDeps['env'], 'billingCurrency'>;
}

/** Closes the next group of events of a key, if one is due: once, however often it is repeated. */
export function closeNextEvents(deps: EventDeps, key: GroupKey): Promise<GroupStep> {
  return closeNext<LiveTrigger, EventGroupClose>(deps, key, {
    read: readLiveTrigger,
    fill: (trigger, groupId) => fillGroup(deps, trigger, groupId),
    close: closeEventGroup,
    fail: (tx, _trigger, groupId, failure) => failEventGroup(tx, groupId, failure),
  });
}

/** Fills the templates for a group outside any transaction; null: the group has been closed. */
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
