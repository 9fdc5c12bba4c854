import { databaseTime } from '../../db/database-time.ts';
import { readGroup, type GroupedDelivery, type GroupKey } from '../../db/webhooks/group-queries.ts';
import { readHook, type Hook } from '../../db/webhooks/hooks.ts';
import { closeTakenGroup, failTakenGroup, type GroupClose } from '../../domain/webhooks/groups.ts';
import { parseHookBody } from '../../ports/hooks/body.ts';
import { fillHook, type HookItem, type SeenRequest } from '../../ports/hooks/texts.ts';
import type { GroupActivities, GroupStep } from '../../workflows/contracts/triggers/webhooks.ts';
import type { ActivityDeps } from '../deps.ts';
import { closeNext } from './close-next-group.ts';
import { closeNextEvents } from './event-groups.ts';
import { readAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** The activity that closes groups of deliveries and of events. Rows record what is due and what was taken, so a repeat starts no second run. */
export function createGroupActivities(deps: ActivityDeps): GroupActivities {
  return {
    closeGroup: (input) => {
      const hash = Buffer.from(input.key, 'hex');
      return 'triggerId' in input
        ? closeNextEvents(deps, { table: 'event_matches', ownerId: input.triggerId, hash })
        : closeNextDeliveries(deps, { table: 'webhook_deliveries', ownerId: input.endpointId, hash });
    },
  };
}

function closeNextDeliveries(deps: ActivityDeps, key: GroupKey): Promise<GroupStep> {
  return closeNext<Hook, GroupClose>(deps, key, {
    read: readHook,
    fill: (hook, groupId) => fillGroup(deps, hook, groupId),
    close: closeTakenGroup,
    fail: failTakenGroup,
  });
}

/** Fills the templates for a group outside any transaction. */
async function fillGroup(deps: ActivityDeps, hook: Hook, groupId: string): Promise<GroupClose> {
  const payload = hook.coalescing?.payload ?? 'last';
  const { used, hops, now } = await readAsSystem(deps, async (tx) => ({
    ...(await readGroup(tx, groupId, payload)),
    now: await databaseTime(tx.em),
  }));
  const templates = deps.templates.of(tenantOfActivity().organizationId);
  const { texts, warnings } = await fillHook(templates, hook, seenOf(used, { isAll: payload === 'all', now }));
  const run = { texts, currency: deps.env.billingCurrency, hops };
  return { groupId, usedIds: used.map(({ id }) => id), run, warnings };
}

/** Returns what templates see: the latest of the deliveries whose data count, and, for a group whose data all count, each of them. */
function seenOf(used: readonly GroupedDelivery[], { isAll, now }: { readonly isAll: boolean; readonly now: Date }): SeenRequest {
  const newest = used.at(-1);
  const request = { method: newest?.method ?? 'POST', headers: newest?.headers ?? {}, query: newest?.query ?? {} } as const;
  const body = newest ? bodyOf(newest) : null;
  return { request, body, now, ...(isAll ? { items: used.map(itemOf) } : {}) };
}

function itemOf(delivery: GroupedDelivery): HookItem {
  const { headers, query, method, occurredAt } = delivery;
  return { body: bodyOf(delivery), headers, query, method, occurred_at: new Date(occurredAt).toISOString() };
}

/** The body was parsed on arrival, so it can be parsed again. */
function bodyOf({ body, headers }: GroupedDelivery): unknown {
  return parseHookBody(body ?? Buffer.alloc(0), headers['content-type']);
}
