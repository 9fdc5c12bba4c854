import { createHash } from 'node:crypto';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { newId } from '../ids.ts';
import { addOutboxAll } from '../outbox.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { DeliveryEvent } from './alert-delivery.entity.ts';
import { adminsOf } from './alert-readers.ts';
import type { AlertSnapshot } from './alert-snapshot.ts';
import type { AlertTarget, DeliveryTarget } from './alert-target.ts';

/** One event of an alert, to be sent to the targets of its rule. */
export interface Notice {
  /** Null: a test of the rule. */
  readonly alertId: string | null;
  readonly seq: number;
  readonly event: DeliveryEvent;
  readonly snapshot: AlertSnapshot;
  readonly targets: readonly AlertTarget[];
}

/** A stored delivery, and the index of the rule's target that it is for. */
export interface WrittenDelivery {
  readonly id: string;
  readonly targetIndex: number;
}

/**
 * Stores one delivery for each receiver of a notice, and the starts of their workflows. `admins` are resolved now; a receiver named twice gets one. A target
 * without receivers gets none.
 */
export async function writeDeliveries(tx: TenantTransaction, notice: Notice): Promise<WrittenDelivery[]> {
  const receivers = await receiversOf(tx, notice);
  const { rule_id: ruleId, organization_id: organizationId, workspace_id: workspaceId } = notice.snapshot;
  const { alertId, seq, event, snapshot } = notice;
  const written = receivers.map((receiver) => ({ ...receiver, id: newId() }));
  if (written.length === 0) return [];

  await change(
    tx.em,
    query.insertInto('alert_deliveries').values(
      written.map(({ id, target, targetKey }) => ({
        id,
        organizationId,
        workspaceId,
        ruleId,
        alertId,
        seq,
        event,
        targetKey,
        target,
        snapshot,
        status: 'queued' as const,
      })),
    ),
  );
  await addOutboxAll(
    tx,
    written.map(({ id }) => startOf(tx, { id, organizationId, workspaceId })),
  );
  return written.map(({ id, targetIndex }) => ({ id, targetIndex }));
}

interface Receiver {
  readonly target: DeliveryTarget;
  readonly targetKey: string;
  readonly targetIndex: number;
}

async function receiversOf(tx: TenantTransaction, { targets, snapshot }: Notice): Promise<Receiver[]> {
  const found = new Map<string, Receiver>();
  const add = (target: DeliveryTarget, targetIndex: number) => {
    const targetKey = targetKeyOf(target);
    if (!found.has(targetKey)) found.set(targetKey, { target, targetKey, targetIndex });
  };
  const place = { organizationId: snapshot.organization_id, workspaceId: snapshot.workspace_id };
  for (const [index, target] of targets.entries()) {
    if (target.kind !== 'admins') add(target, index);
    else for (const userId of await adminsOf(tx, place)) add({ kind: 'user', user_id: userId }, index);
  }
  return [...found.values()];
}

/** Returns the key of a target. Equal targets have equal keys; a key contains no address. */
function targetKeyOf(target: DeliveryTarget): string {
  switch (target.kind) {
    case 'user':
      return `user:${target.user_id}`;
    case 'webhook':
      return `webhook:${digestOf([target.url, target.secret_name])}`;
    case 'slack':
      return `slack:${digestOf([target.secret_name])}`;
    default:
      return target satisfies never;
  }
}

function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

function startOf(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: { readonly id: string; readonly organizationId: string; readonly workspaceId: string | null },
) {
  const workflowId = workflowIds.delivery(id);
  return {
    message: {
      kind: 'workflow.start',
      workflowType: 'deliver',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ source: 'alert', deliveryId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
    dedupeKey: workflowId,
  } as const;
}
