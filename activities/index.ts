import { createReconciler } from '../temporal/reconciler.ts';
import type { Temporal } from '../temporal/client.ts';
import type { AttachmentActivities } from '../workflows/contracts/attachments.ts';
import type { AgentRunActivities } from '../workflows/contracts/runs/agent-run.ts';
import type { DelayedStartActivities } from '../workflows/contracts/runs/delayed-start.ts';
import type { BulkCancelActivities } from '../workflows/contracts/runs/bulk-cancel.ts';
import { deliveryActivityNames, type DeliveryActivities, type NoticeActivities } from '../workflows/contracts/upkeep/delivery.ts';
import type { EvaluationActivities } from '../workflows/contracts/evaluations.ts';
import type { IngestActivities } from '../workflows/contracts/knowledge/ingest.ts';
import type { IndexActivities, WriteItemActivities } from '../workflows/contracts/knowledge/items.ts';
import type { ReembedActivities } from '../workflows/contracts/knowledge/reembed.ts';
import type { KnowledgeRunActivities, PolicyActivities } from '../workflows/contracts/knowledge/runs.ts';
import { maintenanceActivityNames, type MaintenanceActivities } from '../workflows/contracts/upkeep/maintenance.ts';
import type { PurgeActivities, StopActivities } from '../workflows/contracts/upkeep/operator.ts';
import type { ToolTestActivities } from '../workflows/contracts/tools/tool-test.ts';
import type { ToolkitSyncActivities } from '../workflows/contracts/tools/toolkit-sync.ts';
import type { EventActivities } from '../workflows/contracts/triggers/events.ts';
import type { EditorActivities } from '../workflows/contracts/review/editor.ts';
import type { ReviewRunActivities } from '../workflows/contracts/review/review-runs.ts';
import type { TriggerActivities } from '../workflows/contracts/triggers/triggers.ts';
import type { ChannelActivities, ChannelSyncActivities } from '../workflows/contracts/triggers/channels.ts';
import type { GroupActivities } from '../workflows/contracts/triggers/webhooks.ts';
import type { BindingActivities, PullRequestActivities } from '../workflows/contracts/review/pull-requests.ts';
import { newId } from '../db/ids.ts';
import { createReviewUpkeep } from './code-review/review-upkeep.ts';
import { createEditorActivities } from './code-review/editor/editor-activities.ts';
import { createPullRequestActivities } from './code-review/pull-request-activities.ts';
import { createEvaluationActivities } from './evaluations/evaluation-activities.ts';
import { createIngestActivities } from './knowledge/ingest-activities.ts';
import { createIndexActivities } from './knowledge/index-activities.ts';
import { createWriteActivities } from './knowledge/write-activities.ts';
import { createLostWorkUpkeep } from './knowledge/lost-work.ts';
import { createIndexUpkeep } from './knowledge/vector-index-upkeep.ts';
import { createReembedActivities } from './knowledge/reembed-activities.ts';
import { createPolicyActivities } from './knowledge/policy-activities.ts';
import { createKnowledgeRunActivities } from './knowledge/run-activities.ts';
import { runWorks } from './knowledge/run-works.ts';
import { createAlertActivities } from './maintenance/alert-activities.ts';
import { createAttachmentActivities } from './attachments/attachment-activities.ts';
import { createNoticeActivities } from './delivery/notice-activities.ts';
import { createDeliveryActivities } from './delivery/send-mail.ts';
import type { ActivityDeps } from './deps.ts';
import { createGateActivities } from './approvals/approval-activities.ts';
import { createAuditActivities } from './maintenance/audit-activities.ts';
import { createChannelActivities } from './channels/channel-activities.ts';
import { createBudgetActivities } from './maintenance/budget-activities.ts';
import { createIdentityActivities } from './maintenance/identity-activities.ts';
import { createKnowledgeUpkeep } from './maintenance/knowledge-activities.ts';
import { createReviewRunActivities } from './code-review/review-run-activities.ts';
import { createMaintenanceActivities } from './maintenance/maintenance-activities.ts';
import { createSyncActivities, createSyncUpkeep } from './mcp/sync-activities.ts';
import { createModelActivities } from './model/call-model.ts';
import { createDueActivities } from './operator/due-activities.ts';
import { createPurgeActivities } from './operator/purge-activities.ts';
import { createStopActivities } from './operator/stop-activities.ts';
import { createDelayedStartActivities } from './runs/delayed-start-activities.ts';
import { createBulkCancelActivities } from './runs/bulk-cancel-activities.ts';
import { createChildActivities } from './runs/child-activities.ts';
import { createRunActivities } from './runs/run-activities.ts';
import { asTenant } from './support/tenant.ts';
import { createToolActivities } from './tools/tool-activities.ts';
import { createToolTestActivities } from './tools/calls/tool-test.ts';
import { createEventActivities } from './triggers/event-activities.ts';
import { createGroupActivities } from './triggers/group-activities.ts';
import { createTriggerUpkeep } from './triggers/trigger-upkeep.ts';
import { createTriggerActivities } from './triggers/trigger-activities.ts';

export type Activities = AgentRunActivities &
  DelayedStartActivities &
  BulkCancelActivities &
  DeliveryActivities &
  NoticeActivities &
  MaintenanceActivities &
  StopActivities &
  PurgeActivities &
  ToolTestActivities &
  ToolkitSyncActivities &
  AttachmentActivities &
  IndexActivities &
  WriteItemActivities &
  IngestActivities &
  KnowledgeRunActivities &
  ReembedActivities &
  PolicyActivities &
  EvaluationActivities &
  TriggerActivities &
  GroupActivities &
  EventActivities &
  ChannelActivities &
  ChannelSyncActivities &
  EditorActivities &
  ReviewRunActivities &
  PullRequestActivities &
  BindingActivities;

/** Activities that run without a tenant header, since they act on no single tenant. */
export const systemActivities: ReadonlySet<string> = new Set([...maintenanceActivityNames, ...deliveryActivityNames]);

/** Everything a worker executes, by the names under which histories record it. */
export function createActivities(deps: ActivityDeps, temporal: Temporal): Activities {
  const runs = createRunActivities(deps);
  const reconciler = createReconciler({
    temporal,
    db: deps.db,
    log: deps.log,
    dispatch: deps.dispatch,
    measure: deps.metrics.repaired,
    finish: ({ id, organizationId, workspaceId }, ending) =>
      asTenant({ organizationId, workspaceId, correlationId: newId() }, () => runs.finishRun({ runId: id, ...ending })),
  });

  return {
    ...runs,
    ...createDelayedStartActivities(deps),
    ...createModelActivities(deps),
    ...createBulkCancelActivities(deps),
    ...createToolActivities(deps),
    ...createChildActivities(deps),
    ...createGateActivities(deps),
    ...createToolTestActivities(deps),
    ...createSyncActivities(deps),
    ...createSyncUpkeep(deps),
    ...createDeliveryActivities(deps),
    ...createNoticeActivities(deps),
    ...createIdentityActivities(deps),
    ...createAuditActivities(deps),
    ...createStopActivities(deps),
    ...createPurgeActivities(deps),
    ...createDueActivities(deps),
    ...createTriggerActivities(deps, temporal),
    ...createAttachmentActivities(deps),
    ...createIndexActivities(deps),
    ...createWriteActivities(deps),
    ...createIngestActivities(deps),
    ...createKnowledgeRunActivities(deps, runWorks),
    ...createReembedActivities(deps),
    ...createLostWorkUpkeep(deps, temporal),
    ...createIndexUpkeep(deps),
    ...createPolicyActivities(deps, temporal),
    ...createEvaluationActivities(deps),
    ...createReviewUpkeep(deps),
    ...createPullRequestActivities(deps, runs.finishRun),
    ...createGroupActivities(deps),
    ...createEventActivities(deps),
    ...createChannelActivities(deps),
    ...createTriggerUpkeep(deps, temporal),
    ...createEditorActivities(deps),
    ...createReviewRunActivities(deps),
    ...createBudgetActivities(deps),
    ...createAlertActivities(deps),
    ...createKnowledgeUpkeep(deps),
    ...createMaintenanceActivities({ db: deps.db, log: deps.log, dispatch: deps.dispatch, reconciler }),
  };
}
