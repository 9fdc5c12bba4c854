// Entry of the workflow bundle: the exported names are the workflow types that histories record. Never rename one.
export { agentRun } from './agent-run/agent-run.ts';
export { alertTick } from './maintenance/alert-tick.ts';
export { attachmentScan } from './attachments/attachment-scan.ts';
export { bindingStop } from './code-review/binding-stop.ts';
export { pullRequest } from './code-review/pull-request.ts';
export { channelReply } from './channels/channel-reply.ts';
export { channelSync } from './channels/channel-sync.ts';
export { closeGroups } from './triggers/close-groups.ts';
export { delayedStart } from './triggers/delayed-start.ts';
export { codeReviewRun } from './code-review/code-review-run.ts';
export { bulkCancel } from './runs/bulk-cancel.ts';
export { deliver } from './delivery/deliver.ts';
export { delivery } from './delivery/deliver.ts';
export { orgPurge } from './maintenance/org-purge.ts';
export { evaluation } from './evaluations/evaluation.ts';
export { ingestSource } from './knowledge/ingest-source.ts';
export { indexBase } from './knowledge/index-base.ts';
export { writeItem } from './knowledge/write-item.ts';
export { reembedBase } from './knowledge/reembed-base.ts';
export { knowledgeRun } from './knowledge/knowledge-run.ts';
export { knowledgeUpkeep } from './maintenance/knowledge-upkeep.ts';
export { policyRun } from './knowledge/policy-run.ts';
export { policySync } from './knowledge/policy-sync.ts';
export { orgStop, wsStop } from './maintenance/stop.ts';
export { backfillSchedule } from './triggers/backfill-schedule.ts';
export { fanOut } from './triggers/fan-out.ts';
export { fireSchedule } from './triggers/fire-schedule.ts';
export { triggerSync } from './triggers/trigger-sync.ts';
export { toolkitSync } from './tools/toolkit-sync.ts';
export { toolTest } from './tools/tool-test.ts';
export {
  alertSweep,
  attachmentSweep,
  auditSeal,
  budgetHolds,
  githubRedeliver,
  httpSweep,
  identitySweep,
  reconcile,
  retention,
  reviewSweep,
  signingKeys,
  tendArchives,
  tendReembeds,
  tendTriggers,
  toolkitSyncs,
  wsPurge,
} from './maintenance/upkeep.ts';
