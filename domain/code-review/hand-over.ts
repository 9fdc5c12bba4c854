import { handOverToAll, handOverToWorkspace, type HandedEvent } from '../../db/code-review/bindings/hand-over.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { isOfBinding, type HostEvent } from './read-event.ts';
import { wakeParts } from '../../db/code-review/bindings/wake.ts';

/** A delivery of the Git host that is handed over to code review. */
export interface HandOver {
  /** Null: nothing follows from it. */
  readonly event: HostEvent | null;
  /** The host's id of the delivery. */
  readonly guid: string;
  /** It came to the endpoint of the deployment's App, which speaks for repositories of all tenants. */
  readonly isOfDeployment: boolean;
}

/** Hands a verified delivery over, in its transaction: each binding that it is about gets its event, and what follows it is woken, once a delivery. */
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
