import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
  type ScheduleOptionsAction,
} from '@temporalio/client';
import { taskQueues, workflowIds } from '../workflows/contracts/queues.ts';
import type { Temporal } from './client.ts';
import { signTenantHeader, type TenantHeader } from './header.ts';
import { searchAttributePairs } from './search-attributes.ts';
import { specOf, type CompiledTimes } from './trigger-schedules.ts';

/** Makes Temporal's schedule `maint:policy:<kb>` match a policy, whatever it was before. The workflows it starts carry the signed tenant. */
export async function upsertPolicySchedule(
  temporal: Temporal,
  { kbId, compiled }: { readonly kbId: string; readonly compiled: CompiledTimes },
  tenant: TenantHeader,
): Promise<void> {
  const options = optionsOf(kbId, compiled, tenant);
  const { scheduleId, spec, action, policies } = options;
  const header = signTenantHeader(temporal.headerKeys, { ...tenant, trace: null });
  try {
    await temporal.withHeader(header, () => temporal.client.schedule.create(options));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await temporal.client.schedule.getHandle(scheduleId).update(({ state }) => ({ spec, action, policies, state }));
  }
}

/** Removes the schedule; a missing one counts as removed. */
export async function removePolicySchedule(temporal: Temporal, kbId: string): Promise<void> {
  try {
    await temporal.client.schedule.getHandle(workflowIds.policy(kbId)).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

function optionsOf(
  kbId: string,
  compiled: CompiledTimes,
  { organizationId, workspaceId }: TenantHeader,
): ScheduleOptions<ScheduleOptionsAction> {
  return {
    scheduleId: workflowIds.policy(kbId),
    spec: specOf(compiled),
    action: {
      type: 'startWorkflow',
      workflowType: 'policyRun',
      workflowId: workflowIds.policyRun(kbId),
      taskQueue: taskQueues.bulk,
      args: [{ kbId }],
      typedSearchAttributes: searchAttributePairs({
        OrganizationId: organizationId,
        ...(workspaceId === null ? {} : { WorkspaceId: workspaceId }),
        SourceId: kbId,
      }),
    },
    // Runs skipped during an outage are not made up for: the next run finds what there is.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000 },
  };
}
