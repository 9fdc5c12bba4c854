import { readRunRow } from '../../db/runs/read/run-queries.ts';
import { toRunView, type RunRow } from '../../db/runs/read/run-view.ts';
import { iso } from '../../db/sql.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { CallbackFacts, DueCallback } from '../../db/webhooks/callbacks.ts';
import { readEndpointSecrets } from '../../db/webhooks/hooks.ts';
import {
  claimNextTry,
  outcomeOfCallback,
  settleCallback,
  verdictOfCallback,
  type CallbackVerdict,
} from '../../domain/webhooks/callbacks.ts';
import type { TryOutcome } from '../../domain/deliveries/retries.ts';
import type { EgressPolicy } from '../../ports/egress/egress.ts';
import { outcomeFor } from '../../ports/hooks/outcome.ts';
import { signatureHeaders } from '../../ports/hooks/webhook-signature.ts';
import { hopsHeader } from '../../workflows/contracts/triggers/hops.ts';
import type { DeliverStep } from '../../workflows/contracts/upkeep/delivery.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { postMessage, refused } from './post-message.ts';

export type SendCallbackDeps = Pick<ActivityDeps, 'db' | 'dispatch' | 'log' | 'metrics' | 'keys' | 'egress' | 'env' | 'mail'>;

/** What a try sends, read before it leaves: a try holds no connection. */
interface Outgoing {
  readonly body: string;
  readonly secrets: readonly string[];
  readonly hops: number;
  readonly policy: EgressPolicy;
}

const maxBodyBytes = 65_536;

/** Makes the next try of a callback, if it is due. */
export async function attemptCallback(deps: SendCallbackDeps, callbackId: string): Promise<DeliverStep> {
  const claim = await transactAsSystem(deps, async (tx) => {
    const found = await claimNextTry(tx, callbackId);
    if (found.state !== 'due') return found;
    const { callback, facts } = found;
    return { ...found, outgoing: facts && (await outgoingOf(deps, tx, { callback, facts })) };
  });
  if (claim.state === 'over') return { isOver: true };
  if (claim.state === 'waiting') return { isOver: false, waitMs: claim.waitMs };

  const { callback, outgoing } = claim;
  const outcome =
    outgoing === null
      ? refused('the endpoint or the run no longer exists, or the receiver wants no more deliveries')
      : await send(deps, callback, outgoing);
  const verdict = verdictOfCallback(outcome, { attempts: callback.attempts, random: Math.random() });
  await transactAsSystem(deps, (tx) => settleCallback(tx, callback, { outcome, verdict, at: deps.db.clock.now() }));
  report(deps, callback, { outcome, verdict });
  return verdict.status === 'pending' ? { isOver: false, waitMs: verdict.delayMs } : { isOver: true };
}

async function outgoingOf(
  deps: SendCallbackDeps,
  tx: TenantTransaction,
  { callback, facts }: { readonly callback: DueCallback; readonly facts: CallbackFacts },
): Promise<Outgoing | null> {
  const run = await readRunRow(tx, callback.runId);
  if (!run) return null;
  return {
    body: bodyOf(callback, run, { path: facts.responsePath, publicUrl: deps.mail?.publicUrl ?? '' }),
    secrets: await readEndpointSecrets(tx, deps.keys, { id: callback.endpointId, organizationId: callback.organizationId }),
    hops: facts.hops,
    policy: { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, callback.organizationId) },
  };
}

function send({ egress, db }: SendCallbackDeps, { id, url }: DueCallback, { body, secrets, hops, policy }: Outgoing): Promise<TryOutcome> {
  const signed = signatureHeaders(secrets, { id, timestampS: Math.floor(db.clock.now().getTime() / 1_000), body });
  return postMessage(egress, { url, policy, body, headers: { ...signed, [hopsHeader]: String(hops + 1) }, judge: outcomeOfCallback });
}

/** Returns the body of every try of a callback. An outcome that is too long is left out, and the run's address says where it is. */
function bodyOf(
  { deliveryId }: DueCallback,
  run: RunRow,
  { path, publicUrl }: { readonly path: string | null; readonly publicUrl: string },
): string {
  const view = toRunView(run);
  const { id, status, error, finished_at: finishedAt } = view;
  const message = (data: object) => JSON.stringify({ type: 'run.finished', timestamp: finishedAt ?? iso(run.createdAt), data });

  const facts = { run_id: id, delivery_id: deliveryId, status };
  const whole = message({ ...facts, output: outcomeFor(view, path) ?? null, error });
  if (Buffer.byteLength(whole) <= maxBodyBytes) return whole;
  return message({ ...facts, output: null, error, truncated: true, run_url: `${publicUrl}/runs/${id}` });
}

/** Logs name the callback, never its receiver. */
function report(
  { metrics, log }: SendCallbackDeps,
  { id, attempts }: DueCallback,
  { outcome, verdict }: { readonly outcome: TryOutcome; readonly verdict: CallbackVerdict },
): void {
  const result = { delivered: 'sent', pending: 'failed', failed: 'dead', stopped: 'dead' } as const;
  metrics.noticeTried('callback', result[verdict.status]);
  const level = verdict.status === 'failed' || verdict.status === 'stopped' ? 'warn' : 'info';
  log[level]({ callback_id: id, attempt: attempts, result: verdict.status, status: outcome.status }, 'callback tried');
}
