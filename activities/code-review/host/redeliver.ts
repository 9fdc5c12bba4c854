import { cancellationSignal } from '@temporalio/activity';
import { takenDeliveries, workspacesWithApps, type AppWorkspace } from '../../../db/code-review/bindings/upkeep.ts';
import { newId } from '../../../db/ids.ts';
import { sweep, systemActor, workspaceTenant } from '../../../db/transaction.ts';
import { ownApp } from '../../../domain/code-review/app-credentials.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import type { AppCredentials } from '../../../ports/github/app-key.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAndSend } from '../../support/as-system.ts';

const maxAsked = 100;
const maxPages = 10;
const maxAgeMs = 3 * 86_400_000;
const workspacesAtOnce = 200;

/**
 * Asks the host to send again the deliveries of the last three days that failed and that no endpoint has accepted, for the deployment's App and for those of
 * workspaces, at most 100 per App. Returns their number. An App that can't be reached does not hold up the others.
 */
export async function redeliverLost(deps: ActivityDeps): Promise<number> {
  const { app, hook } = deps.env.github;
  let asked = app !== null && hook !== null ? await ofApp(deps, app, null) : 0;
  for (let after: string | null = null; ;) {
    const from: string | null = after;
    const found: AppWorkspace[] = await sweep(deps.db, (em) => workspacesWithApps(em, from, workspacesAtOnce));
    for (const place of found) {
      cancellationSignal().throwIfAborted();
      const tenant = workspaceTenant(place.organizationId, place.workspaceId);
      const own = await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, (tx) => ownApp(tx, deps.keys, place));
      if (own !== null) asked += await ofApp(deps, own, place.workspaceId);
    }
    after = found.at(-1)?.workspaceId ?? null;
    if (found.length < workspacesAtOnce) return asked;
  }
}

async function ofApp(deps: ActivityDeps, app: AppCredentials, workspaceId: string | null): Promise<number> {
  try {
    const failed = await failedDeliveries(deps, app);
    const guids = [...failed.keys()];
    const taken = await sweep(deps.db, (em) => takenDeliveries(em, guids, workspaceId));
    const lost = [...failed].filter(([guid]) => !taken.has(guid)).slice(0, maxAsked);
    const route = 'POST /app/hook/deliveries/{delivery_id}/attempts';
    for (const [, id] of lost) await deps.github.tokens.asApp(app, { route, parameters: { delivery_id: id } }, cancellationSignal());
    return lost.length;
  } catch (err) {
    if (!(err instanceof HostError)) throw err;
    deps.log.warn({ err, workspace_id: workspaceId }, 'deliveries of an App could not be asked for again');
    return 0;
  }
}

/** Returns the deliveries of the last days of which no try has arrived, the newest try of each: guid to the host's id. */
async function failedDeliveries({ github }: ActivityDeps, app: AppCredentials): Promise<Map<string, number>> {
  const failed = new Map<string, number>();
  const arrived = new Set<string>();
  let cursor: string | null = null;
  // The host dates each delivery; their age is measured from its newest one.
  let oldestMs: number | null = null;
  for (let page = 0; page < maxPages; page++) {
    const parameters: { per_page: number; cursor?: string } = { per_page: 100, ...(cursor === null ? {} : { cursor }) };
    const { data, headers } = await github.tokens.asApp(app, { route: 'GET /app/hook/deliveries', parameters }, cancellationSignal());
    oldestMs ??= Date.parse(data[0]?.delivered_at ?? '') - maxAgeMs;
    const young = data.filter(({ delivered_at: at }) => Date.parse(at) >= (oldestMs ?? 0));
    for (const { guid, id, status_code: status } of young) {
      if (status >= 200 && status < 300) arrived.add(guid);
      else if (!failed.has(guid)) failed.set(guid, Number(id));
    }
    cursor = nextCursor(headers.link);
    if (cursor === null || young.length < data.length) break;
  }
  for (const guid of arrived) failed.delete(guid);
  return failed;
}

/** Returns the cursor of the next page from the Link header (RFC 8288); null: there is none. */
function nextCursor(link: string | undefined): string | null {
  const next = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return next !== undefined && URL.canParse(next) ? new URL(next).searchParams.get('cursor') : null;
}
