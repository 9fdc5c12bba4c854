// Entry of the workflow bundle: the exported names are the workflow types that histories record. Never rename one.
export { agentRun } from './agent-run/agent-run.ts';
export { attachmentScan } from './attachments/attachment-scan.ts';
export { attachmentSweep } from './maintenance/attachment-sweep.ts';
export { auditSeal } from './maintenance/audit-seal.ts';
export { delivery } from './delivery/delivery.ts';
export { httpSweep } from './maintenance/http-sweep.ts';
export { orgPurge } from './maintenance/org-purge.ts';
export { identitySweep } from './maintenance/identity-sweep.ts';
export { reconcile } from './maintenance/reconcile.ts';
export { retention } from './maintenance/retention.ts';
export { signingKeys } from './maintenance/signing-keys.ts';
export { tendArchives } from './maintenance/tend-archives.ts';
export { orgStop, wsStop } from './maintenance/stop.ts';
export { wsPurge } from './maintenance/ws-purge.ts';
export { fireSchedule } from './triggers/fire-schedule.ts';
export { tendTriggers } from './maintenance/tend-triggers.ts';
export { triggerSync } from './triggers/trigger-sync.ts';
export { toolTest } from './tools/tool-test.ts';
