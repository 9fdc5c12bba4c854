import { handOverToAll, handOverToWorkspace, type HandedEvent } from '../../db/code-review/bindings/hand-over.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { isOfBinding, type HostEvent } from './read-event.ts';
import { wakeParts } from '../../db/code-review/bindings/wake.ts';

/** A delivery of the Git host that is handed over to code review. */
export interface HandOver {
  /** Null: nothing follows from the delivery. */
  readonly event: HostEvent | null;
  /** The host's id of the delivery. */
  readonly guid: string;
  /** The delivery arrived at the endpoint of the deployment's App, which acts for repositories of all tenants. */
  readonly isOfDeployment: boolean;
}

/** Hands over a verified delivery, in its transaction: writes its event for each binding concerned and wakes what follows the event, once per delivery. */
export async function handOver(
  tx: TenantTransaction,
  { event, guid, isOfDeployment }: HandOver,
  { workspaceId }: { readonly workspaceId: string },
): Promise<void> {
  if (event === null) return;
  const { pullMessage, bindingMessage } = wakeParts(tx.correlationId);
  const handed: HandedEvent = {
    installation_id: event.installationId,
    repo_id: event.repoId,
    pull_number: event.pullNumber,
    is_of_binding: isOfBinding(event.event),
    guid: guid.slice(0, 100),
    event: event.event,
    action: event.action,
    facts: event.facts,
    pull_message: pullMessage,
    binding_message: bindingMessage,
  };
  await (isOfDeployment ? handOverToAll(tx, handed) : handOverToWorkspace(tx, handed, workspaceId));
}
