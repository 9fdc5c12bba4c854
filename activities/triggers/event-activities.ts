import { readFanOut, type LiveTrigger, type PendingEvent } from '../../db/events/match-queries.ts';
import type { SettledMatch } from '../../db/events/matches.ts';
import { errorCodeOf, judgeEvent, seenEvent, settleEvent, startMatch, type MatchStart } from '../../domain/events/fan-out.ts';
import { hashOfKey } from '../../domain/webhooks/start-delivery.ts';
import { eventTimeOf } from '../../ports/hooks/event-time.ts';
import { fillEventKey, fillTrigger, type SeenEvent } from '../../ports/hooks/event-texts.ts';
import { TemplateError } from '../../ports/templates/templates.ts';
import type { EventActivities } from '../../workflows/contracts/triggers/events.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { toApplicationFailure } from '../support/failures.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import type { EventDeps } from './event-groups.ts';

/** After this long an attempt takes no further trigger; the next attempt continues. */
const maxMs = 5_000;

/** The activity that starts the runs of an event. One match per trigger records what has been done, so a repeat starts no second run. */
export function createEventActivities(deps: EventDeps): EventActivities {
  return {
    fanOutEvent: async ({ eventId }) => {
      const pending = await readAsSystem(deps, (tx) => readFanOut(tx, eventId));
      return pending === null || fanOut(deps, pending);
    },
  };
}

/** Judges the triggers of an event, each run in a separate transaction, and then records the triggers that start none. False: some triggers are left. */
async function fanOut(deps: EventDeps, pending: PendingEvent): Promise<boolean> {
  const until = performance.now() + maxMs;
  const settled: SettledMatch[] = [];
  const refusals: Failure[] = [];
  let isLeft = false;
  for (const trigger of pending.triggers) {
    if (performance.now() > until) isLeft = true;
    if (isLeft) break;
    const came = await matchOne(deps, pending, trigger);
    if (came === 'changed') isLeft = true;
    else if (came instanceof Failure) refusals.push(came);
    else if (came !== 'done') settled.push(came);
  }

  const [refusal] = refusals;
  const isDone = !isLeft && refusal === undefined;
  if (settled.length > 0 || isDone) await transactAsSystem(deps, (tx) => settleEvent(tx, pending.event, { settled, isDone }));
  // A trigger whose start may succeed in a moment does not hold up the others.
  if (refusal !== undefined) throw toApplicationFailure(refusal);
  return isDone;
}

type Came = 'done' | 'changed' | SettledMatch | Failure;

/** Judges an event for one trigger. A further try may fix a Failure. */
async function matchOne(deps: EventDeps, pending: PendingEvent, trigger: LiveTrigger): Promise<Came> {
  const judged = judgeEvent(pending.event, trigger);
  if (judged) return { triggerId: trigger.id, ...judged };
  const failed = (errorCode: string) => ({ triggerId: trigger.id, outcome: 'failed', errorCode, isCounted: true }) as const;
  try {
    const start = await fill(deps, pending, trigger);
    return await transactAsSystem(deps, (tx) => startMatch(tx, start));
  } catch (error) {
    if (error instanceof TemplateError) return failed('template_limit');
    if (!(error instanceof Failure)) throw error;
    return error.retryable ? error : failed(errorCodeOf(error));
  }
}

/** Fills what an event needs on arrival: its key where it is coalesced, and the texts of its run where one may start at once. */
async function fill(deps: EventDeps, { event, now: nowText }: PendingEvent, trigger: LiveTrigger): Promise<MatchStart> {
  const templates = deps.templates.of(tenantOfActivity().organizationId);
  const now = new Date(nowText);
  const seen: SeenEvent = { event: seenEvent(event), now };
  const { coalescing } = trigger;
  const occurredAt = eventTimeOf(event.payload, coalescing?.eventTimePath ?? null) ?? new Date(event.occurredAt);
  const start = { event, trigger, occurredAt, currency: deps.env.billingCurrency };
  if (coalescing === null) return { ...start, texts: await fillTrigger(templates, trigger, seen), coalesceHash: null };

  const coalesceHash = hashOfKey(await fillEventKey(templates, coalescing.keyTemplate, seen));
  if (coalescing.mode !== 'throttle') return { ...start, texts: null, coalesceHash };
  const own = coalescing.payload === 'all' ? { ...seen, items: [seen.event] } : seen;
  return { ...start, texts: await fillTrigger(templates, trigger, own), coalesceHash };
}
