import { readersAmong } from '../../db/alerts/alert-readers.ts';
import { iso } from '../../db/sql.ts';
import { resolveSecret } from '../../domain/secrets/resolve-secret.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { DueDelivery, RuleOfDelivery } from '../../domain/alerts/tries.ts';
import type { TryOutcome } from '../../domain/deliveries/retries.ts';
import { afterMs } from '../../ports/deadline.ts';
import type { EgressPolicy } from '../../ports/egress/egress.ts';
import { signatureHeaders } from '../../ports/hooks/webhook-signature.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { alertLetter, slackMessage, webhookBody } from './alert-texts.ts';
import { toHtml, toText } from './letter.ts';
import { failed, postMessage, refused, maxTryMs } from './post-message.ts';

export type SendAlertDeps = Pick<ActivityDeps, 'db' | 'keys' | 'mail' | 'egress' | 'env'>;

/** What a delivery needs from the database, read before it leaves: a try holds no connection. */
type Route =
  | { readonly kind: 'none'; readonly outcome: TryOutcome }
  | { readonly kind: 'mail'; readonly to: string }
  | { readonly kind: 'webhook'; readonly url: string; readonly secret: string; readonly policy: EgressPolicy }
  | { readonly kind: 'slack'; readonly url: string; readonly policy: EgressPolicy };

/** Resolves the current destination of a delivery: readers who have left, changed secrets and paused rules are taken into account. */
export async function routeOf(
  deps: SendAlertDeps,
  tx: TenantTransaction,
  { delivery, rule }: { readonly delivery: DueDelivery; readonly rule: RuleOfDelivery | null },
): Promise<Route> {
  const { organizationId, workspaceId, target } = delivery;
  if (!rule) return none(refused('the rule was paused or deleted'));

  if (target.kind === 'user') {
    const [reader] = await readersAmong(tx, { organizationId, workspaceId }, [target.user_id]);
    return reader ? { kind: 'mail', to: reader.email } : none(refused('the user is not active or can no longer see the alert'));
  }
  const place = { organizationId, workspaceId: rule.workspaceId, toolId: null };
  const scope = rule.workspaceId === null ? ('organization' as const) : ('workspace' as const);
  const value = await resolveSecret(tx, deps.keys, { name: target.secret_name, row: { ...place, scope } });
  if (value === null) return none(failed('the secret has no value'));
  const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, organizationId) };
  return target.kind === 'slack' ? { kind: 'slack', url: value, policy } : { kind: 'webhook', url: target.url, secret: value, policy };
}

/** Sends a delivery once. Never throws because of the receiver. */
export async function sendAlert(deps: SendAlertDeps, delivery: DueDelivery, route: Route): Promise<TryOutcome> {
  const { id, event, snapshot: alert, workspaceName } = delivery;
  const report = { event, alert, workspaceName, publicUrl: deps.mail?.publicUrl ?? null };
  switch (route.kind) {
    case 'none':
      return route.outcome;
    case 'mail':
      return mailAlert(deps, id, { to: route.to, report });
    case 'slack':
      return postMessage(deps.egress, { url: route.url, policy: route.policy, headers: {}, body: slackMessage(report) });
    case 'webhook': {
      const body = webhookBody(report, { id, createdAt: iso(delivery.createdAt) });
      const headers = signatureHeaders([route.secret], { id, timestampS: Math.floor(deps.db.clock.now().getTime() / 1_000), body });
      return postMessage(deps.egress, { url: route.url, policy: route.policy, headers, body });
    }
    default:
      return route satisfies never;
  }
}

async function mailAlert(
  { mail }: SendAlertDeps,
  id: string,
  { to, report }: { readonly to: string; readonly report: Parameters<typeof alertLetter>[0] },
): Promise<TryOutcome> {
  if (!mail) return refused('this deployment sends no mail');
  const letter = alertLetter(report);
  const late = Promise.withResolvers<TryOutcome>();
  const limit = new AbortController();
  const stop = afterMs(maxTryMs, () => {
    late.resolve(failed(`no answer within ${maxTryMs / 1_000} seconds`));
    limit.abort();
  });
  const sending = mail.mailer
    .send({ id, to, subject: letter.subject, text: toText(letter), html: toHtml(letter) }, limit.signal)
    .then((reply): TryOutcome => (reply.isTaken ? taken : refused('the mail server rejected it permanently', reply.code)), failedMail);
  return Promise.race([sending, late.promise]).finally(stop);
}

const taken: TryOutcome = { result: 'taken', status: null, error: null, retryAfterS: null };

function failedMail(error: unknown): TryOutcome {
  if (error instanceof Failure && (error.code === 'upstream_failed' || error.code === 'upstream_timeout')) return failed(error.detail);
  throw error;
}

function none(outcome: TryOutcome): Route {
  return { kind: 'none', outcome };
}
