/** Task queues: `runs` for work that must not wait behind a batch, `bulk` for batches. */
export const taskQueues = { runs: 'runs', bulk: 'bulk' } as const;
export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];

/** Workflow ids. Ids made from one row refuse duplicates; ids that recur allow them. */
export const workflowIds = {
  run: (runId: string) => `run:${runId}`,
  /** Makes a delayed run active when it is due. */
  delayedStart: (runId: string) => `start:${runId}`,
  bulkCancel: (cancelId: string) => `cancel:${cancelId}`,
  delivery: (outboxId: string) => `delivery:${outboxId}`,
  toolTest: (testId: string) => `tooltest:${testId}`,
  sync: (toolkitId: string) => `sync:${toolkitId}`,
  ingest: (sourceId: string, syncNo: number) => `ingest:${sourceId}:${syncNo}`,
  indexBase: (kbId: string) => `index:${kbId}`,
  writeItem: (toolCallId: string) => `maint:write:${toolCallId}`,
  reembed: (kbId: string) => `reembed:${kbId}`,
  policySync: (kbId: string) => `maint:policy-sync:${kbId}`,
  policy: (kbId: string) => `maint:policy:${kbId}`,
  policyRun: (kbId: string) => `maint:policy-run:${kbId}`,
  knowledgeRun: (runId: string) => `maint:${runId}`,
  maintenance: (name: string) => `maint:${name}`,
  orgStop: (organizationId: string) => `maint:org-stop:${organizationId}`,
  wsStop: (workspaceId: string) => `maint:ws-stop:${workspaceId}`,
  scan: (attachmentId: string) => `scan:${attachmentId}`,
  orgPurge: (organizationId: string) => `maint:org-purge:${organizationId}`,
  triggerSync: (scheduleId: string) => `maint:trigger-sync:${scheduleId}`,
  evaluation: (evaluationRunId: string) => `eval:${evaluationRunId}`,
  trigger: (scheduleId: string) => `trigger:${scheduleId}`,
  hook: (endpointId: string, key: string) => `hook:${endpointId}:${key}`,
  backfill: (backfillId: string) => `backfill:${backfillId}`,
  event: (eventId: string) => `event:${eventId}`,
  channelReply: (runOrMessageId: string) => `delivery:channel:${runOrMessageId}`,
  channelSync: (channelId: string) => `maint:trigger-sync:${channelId}`,
  review: (bindingId: string, pullNumber: number) => `review:${bindingId}:${pullNumber}`,
  bindingStop: (bindingId: string) => `binding-stop:${bindingId}`,
  fire: (scheduleId: string) => `fire:${scheduleId}`,
} as const;

const runWorkflowId = /^run:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** Returns the run whose workflow has this id, or null when it is another kind of workflow. */
export function runIdOf(workflowId: string): string | null {
  return runWorkflowId.exec(workflowId)?.[1] ?? null;
}

/** Name of the signed header that carries the tenant from `temporal/start` to every activity. */
export const tenantHeader = 'longhaul-tenant';
