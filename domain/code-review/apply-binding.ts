import {
  liveBinding,
  openPulls,
  queuedBindingEvents,
  storeBindingState,
  type BindingEventState,
} from '../../db/code-review/bindings/binding-events.ts';
import { settleEvents, type QueuedEvent } from '../../db/code-review/pulls/pulls.ts';
import { wakePullRequest } from '../../db/code-review/bindings/wake.ts';
import { emitEvent } from '../../db/triggers/events.ts';
import { databaseTime } from '../../db/database-time.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { InstallationState } from '../../workflows/contracts/review/pull-requests.ts';
import { keyOf } from './bindings.ts';

/** Kind of the event that reports a change of a binding's installation. */
export const installationChanged = 'review.installation_changed';

const maxEvents = 100;
const maxPulls = 500;

/**
 * Applies the host's events on a binding's repository and installation, in their order. A changed installation state emits an event of the platform; the name
 * follows the repository. Wakes the open pull requests of a binding that is not reviewed, so that they stop. Returns true when there is more. A repeat finds
 * the events applied, and wakes pull requests that are still open once more.
 */
export async function applyBinding(tx: TenantTransaction, bindingId: string): Promise<boolean> {
  const binding = await liveBinding(tx, bindingId);
  if (binding === null) return false;
  const events = await queuedBindingEvents(tx, bindingId, maxEvents);
  const before: BindingEventState = binding;
  const next = events.reduce((state, event) => follow(state, event, binding.repoId), before);
  await settleEvents(
    tx,
    events.map(({ id }) => ({ id, state: 'applied' as const, reason: null })),
  );
  if (next.installationState !== binding.installationState || next.repoFullName !== binding.repoFullName)
    await storeBindingState(tx, bindingId, { ...next, repoKey: keyOf(next.repoFullName) });
  if (next.installationState !== binding.installationState) await tell(tx, binding, next.installationState);
  const isStopped = !binding.isReviewable || next.installationState !== 'ok';
  if (isStopped) await stopPulls(tx, binding);
  return events.length === maxEvents;
}

function follow(state: BindingEventState, { event, action, facts }: QueuedEvent, repoId: number): BindingEventState {
  const isMeant = facts.repo_ids?.includes(repoId) === true;
  switch (`${event}.${action}`) {
    case 'installation.suspend':
      return { ...state, installationState: state.installationState === 'removed' ? 'removed' : 'suspended' };
    case 'installation.unsuspend':
      return { ...state, installationState: state.installationState === 'suspended' ? 'ok' : state.installationState };
    case 'installation.deleted':
    case 'repository.deleted':
      return { ...state, installationState: 'removed' };
    case 'installation_repositories.removed':
      return isMeant ? { ...state, installationState: 'removed' } : state;
    case 'installation_repositories.added':
      return isMeant && state.installationState === 'removed' ? { ...state, installationState: 'ok' } : state;
    case 'repository.renamed':
    case 'repository.transferred':
      return { ...state, repoFullName: facts.repo_full_name ?? state.repoFullName };
    default:
      return state;
  }
}

async function tell(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: { readonly id: string; readonly organizationId: string; readonly workspaceId: string },
  state: InstallationState,
): Promise<void> {
  await emitEvent(tx, {
    organizationId,
    workspaceId,
    eventKind: installationChanged,
    source: 'platform',
    payload: { binding_id: id, installation_state: state },
    occurredAt: await databaseTime(tx.em),
  });
}

async function stopPulls(tx: TenantTransaction, binding: BindingEventState & { readonly id: string }): Promise<void> {
  const cause = newId();
  for (const pullNumber of await openPulls(tx, binding.id, maxPulls))
    await wakePullRequest(tx, binding, { bindingId: binding.id, pullNumber, cause: `stop:${cause}` });
}
