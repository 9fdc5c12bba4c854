import { Webhook } from 'standardwebhooks';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { created } from '../support/scenario.ts';
import type { ProcessName, Stack } from '../support/stack.ts';

/** An endpoint of a deployment's tenant. */
export interface HookEndpoint {
  readonly id: string;
  readonly secret: string;
  readonly slug: string;
}

/** What a sender gets. */
export interface HookReceipt {
  readonly status: number;
  readonly body: {
    readonly delivery_id: string;
    readonly run_id: string | null;
    readonly coalesced: boolean;
    readonly deduplicated: boolean;
  };
}

/** A delivery as its row says. */
export interface StoredDelivery {
  readonly id: string;
  readonly status: string;
  readonly run_id: string | null;
  readonly group_id: string | null;
  readonly error_reason: string | null;
}

/** A request as its sender sends it, again and again. */
export interface SignedBody {
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function makeEndpoint(stack: Stack, agentId: string, more: Readonly<Record<string, unknown>> = {}): Promise<HookEndpoint> {
  const slug = `hook-${crypto.randomUUID().slice(0, 8)}`;
  const body = { agent_id: agentId, slug, prompt_template: '{{ body.text }}', rate_limit_per_minute: 10_000, ...more };
  const made = (await created(stack, '/webhook-endpoints', body)) as { id: string; secret: string };
  return { id: made.id, secret: made.secret, slug };
}

/** A signed body; `id` is the sender's own of it. */
export function sign({ secret }: HookEndpoint, value: unknown, id = `msg_${crypto.randomUUID()}`): SignedBody {
  const payload = JSON.stringify(value);
  const at = new Date();
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, payload),
  };
  return { payload, headers };
}

/** Sends a body to an endpoint; null where no answer came. */
export async function send(
  stack: Stack,
  { slug }: HookEndpoint,
  { payload, headers }: SignedBody,
  name: ProcessName = 'api',
): Promise<HookReceipt | null> {
  const url = `${stack.url(name)}/hooks/${stack.tenant.workspaceId}/${slug}`;
  const reply = await fetch(url, { method: 'POST', headers, body: payload }).catch(() => null);
  const body = (await reply?.json().catch(() => null)) as HookReceipt['body'] | null | undefined;
  return reply && body ? { status: reply.status, body } : null;
}

export const sqlOn =
  (stack: Stack) =>
  <T>(text: string, params: readonly unknown[] = []) =>
    sweep(stack.db, (em) => rows<T>(em, text, params));

export function deliveriesOf(stack: Stack, { id }: HookEndpoint): Promise<StoredDelivery[]> {
  return sqlOn(stack)<StoredDelivery>(
    'select id, status, run_id, group_id, error_reason from webhook_deliveries where endpoint_id = ? order by id',
    [id],
  );
}

/** Runs of an endpoint, the first first. */
export function runsOf(stack: Stack, { id }: HookEndpoint) {
  return sqlOn(stack)<{ id: string; status: string; input: { text: string }; hops: number }>(
    'select id, status, input, hops from runs where trigger_id = ? and parent_run_id is null order by id',
    [id],
  );
}
