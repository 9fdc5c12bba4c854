import { created } from '../support/scenario.ts';
import type { ProcessName, Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { sqlOn } from './hook-world.ts';

/** Makes a trigger of a deployment's tenant; gives its id. */
export async function makeTrigger(stack: Stack, agentId: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const body = { name: 'Trigger', agent_id: agentId, event_kind: 'shop.order_paid', prompt_template: '{{ event.payload.text }}', ...more };
  return (await created(stack, '/event-triggers', body)).id;
}

/** Publishes an event, again and again until it is taken, as a publisher does; one without a `dedupe_key` may then count twice. */
export async function publish(stack: Stack, body: Readonly<Record<string, unknown>>, name: ProcessName = 'api'): Promise<string> {
  let id: string | null = null;
  await until(async () => {
    const answer = await stack
      .request('POST', '/events', { body: { event_kind: 'shop.order_paid', ...body }, process: name })
      .catch(() => null);
    if (answer !== null && answer.status !== 202 && answer.status < 500) throw new Error(`publishEvent: ${JSON.stringify(answer.body)}`);
    id = answer?.status === 202 ? (answer.body as { id: string }).id : null;
    return id !== null;
  });
  return id ?? '';
}

/** An event's match as its row says. */
export interface StoredMatch {
  readonly event_id: string;
  readonly outcome: string;
  readonly run_id: string | null;
  readonly group_id: string | null;
  readonly error_code: string | null;
}

export const matchesOf = (stack: Stack, triggerId: string) =>
  sqlOn(stack)<StoredMatch>(
    'select event_id, outcome, run_id, group_id, error_code from event_matches where trigger_id = ? order by event_id',
    [triggerId],
  );

export const runsOf = (stack: Stack, triggerId: string) =>
  sqlOn(stack)<{ id: string; status: string; input: { text: string }; event_depth: number }>(
    'select id, status, input, event_depth from runs where trigger_id = ? order by id',
    [triggerId],
  );
