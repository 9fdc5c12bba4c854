import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { readGroup, type GroupedDelivery, type GroupKey } from '../../db/webhooks/group-queries.ts';
import { readHook, type Hook } from '../../db/webhooks/hooks.ts';
import { closeTakenGroup, failTakenGroup, takeDueGroup } from '../../domain/webhooks/groups.ts';
import { parseHookBody } from '../../ports/hook-body.ts';
import { fillHook, type HookItem, type SeenRequest } from '../../ports/hook-texts.ts';
import { TemplateError } from '../../ports/templates.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import type { GroupActivities, GroupStep } from '../../workflows/contracts/webhooks.ts';
import type { ActivityDeps } from '../deps.ts';
import { closeNextEvents } from './event-groups.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** The activity that closes groups of deliveries and of events. Rows say what is due and what was taken, so that whoever repeats it starts no second run. */
export function createGroupActivities(deps: ActivityDeps): GroupActivities {
  return {
    closeGroup: (input) => {
      const hash = Buffer.from(input.key, 'hex');
      return 'triggerId' in input
        ? closeNextEvents(deps, { table: 'event_matches', ownerId: input.triggerId, hash })
        : closeNext(deps, { table: 'webhook_deliveries', ownerId: input.endpointId, hash });
    },
  };
}

async function closeNext(deps: ActivityDeps, key: GroupKey): Promise<GroupStep> {
  const { hook, taken } = await transactAsSystem(deps, async (tx) => {
    const found = await readHook(tx, key.ownerId);
    return { hook: found, taken: await takeDueGroup(tx, found, key) };
  });
  if (taken.state !== 'taken' || hook === null) return taken.state === 'taken' ? { state: 'idle' } : taken;

  const close = await fillGroup(deps, hook, taken.groupId);
  await transactAsSystem(deps, (tx) => end(tx, hook, close)).catch(async (error: unknown) => {
    // What no further try can mend ends the group, so that it keeps no later one from closing.
    if (!(error instanceof Failure) || error.retryable) throw error;
    await transactAsSystem(deps, (tx) => failTakenGroup(tx, hook, taken.groupId, error));
  });
  return { state: 'closed' };
}

type Filled = Parameters<typeof closeTakenGroup>[2];

function end(tx: TenantTransaction, hook: Hook, close: Filled | { readonly groupId: string; readonly failure: Failure }): Promise<void> {
  return 'failure' in close ? failTakenGroup(tx, hook, close.groupId, close.failure) : closeTakenGroup(tx, hook, close);
}

/** Fills the templates for a group outside of any transaction. */
async function fillGroup(deps: ActivityDeps, hook: Hook, groupId: string): Promise<Filled | { groupId: string; failure: Failure }> {
  const payload = hook.coalescing?.payload ?? 'last';
  const { used, hops, now } = await readAsSystem(deps, async (tx) => ({
    ...(await readGroup(tx, groupId, payload)),
    now: await databaseTime(tx.em),
  }));
  const seen = seenOf(used, { isAll: payload === 'all', now });
  try {
    const templates = deps.templates.of(tenantOfActivity().organizationId);
    const { texts, warnings } = await fillHook(templates, hook, seen);
    const run = { texts, currency: deps.env.billingCurrency, hops };
    return { groupId, usedIds: used.map(({ id }) => id), run, warnings };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const detail = 'The templates of the endpoint can not be filled with these deliveries.';
    return { groupId, failure: fail('validation_failed', { reason: 'template_limit', detail }) };
  }
}

/** What templates see: the newest in time of those whose data count, and of a group whose data all count each of them. */
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

/** It was parsed when it came, so that it can be parsed again. */
function bodyOf({ body, headers }: GroupedDelivery): unknown {
  return parseHookBody(body ?? Buffer.alloc(0), headers['content-type']);
}
