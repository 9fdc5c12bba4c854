import { cancellationSignal } from '@temporalio/activity';
import { lostBindings, lostPulls } from '../../db/code-review/bindings/upkeep.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { sweep, systemActor, workspaceTenant } from '../../db/transaction.ts';
import { closeSomeCaps, eraseOldEvents, wakeLostBinding, wakeLostPull } from '../../domain/code-review/upkeep.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';
import { redeliverLost } from './host/redeliver.ts';

const maxATick = 500;
const mirrorUnusedMs = 14 * 86_400_000;

/** Maintenance of code review outside its workflows: lost deliveries, old rows and mirrors, and work that waits without a workflow. */
export function createReviewUpkeep(deps: ActivityDeps): Pick<MaintenanceActivities, 'redeliverGithub' | 'sweepReviews'> {
  return {
    redeliverGithub: () => redeliverLost(deps),
    async sweepReviews() {
      const erased = (await untilDone(deps, eraseOldEvents)) + (await untilDone(deps, closeSomeCaps));
      const mirrors = await deps.mirrors.sweep(mirrorUnusedMs);
      return (await wakeLost(deps)) + erased + mirrors;
    },
  };
}

/** Wakes pull requests and bindings whose work waits without a workflow. */
async function wakeLost(deps: ActivityDeps): Promise<number> {
  const pulls = await sweep(deps.db, (em) => lostPulls(em, maxATick));
  const bindings = await sweep(deps.db, (em) => lostBindings(em, maxATick));
  const cause = `sweep:${newId()}`;
  for (const pull of pulls) await inPlaceOf(deps, pull, (tx) => wakeLostPull(tx, pull, cause));
  for (const binding of bindings) await inPlaceOf(deps, binding, (tx) => wakeLostBinding(tx, binding, cause));
  return pulls.length + bindings.length;
}

async function inPlaceOf(
  deps: ActivityDeps,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
  work: (tx: TenantTransaction) => Promise<void>,
): Promise<void> {
  cancellationSignal().throwIfAborted();
  const tenant = workspaceTenant(organizationId, workspaceId);
  await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, work);
}

async function untilDone({ db }: ActivityDeps, some: typeof eraseOldEvents): Promise<number> {
  for (let total = 0; ;) {
    cancellationSignal().throwIfAborted();
    const { erased, isDone } = await sweep(db, some);
    total += erased;
    if (isDone) return total;
  }
}
