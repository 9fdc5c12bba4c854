import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/upkeep/maintenance.ts';

// Workflows of maintenance schedules that call one or two activities and decide nothing themselves. Their names stand in `temporal/schedules.ts`.

type Of<Name extends keyof MaintenanceActivities> = Pick<MaintenanceActivities, Name>;

/** Daily or hourly deletions: deleting twice is harmless. */
const sweeps = proxyActivities<Of<'sweepAlerts' | 'sweepAttachments' | 'sweepIdempotency' | 'sweepOutbox' | 'sweepIdentity'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:alert-sweep`, daily: deletes alerts that were resolved 400 days ago. */
export async function alertSweep(): Promise<void> {
  await sweeps.sweepAlerts();
}

/** Schedule `maint:attachments`: deletes files that nothing references, rows first, then bytes without a row. */
export async function attachmentSweep(): Promise<void> {
  await sweeps.sweepAttachments();
}

/** Schedule `maint:http-sweep`: deletes stored replies past their 24 hours, then outbox rows that were sent. */
export async function httpSweep(): Promise<void> {
  await sweeps.sweepIdempotency();
  await sweeps.sweepOutbox();
}

/** Schedule `maint:identity-sweep`: deletes whatever of sign-in and OAuth has expired. */
export async function identitySweep(): Promise<void> {
  await sweeps.sweepIdentity();
}

const retentions = proxyActivities<Of<'runRetention'>>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:retention`: ends runs, notices, audit entries and failed logins past the days that their organization retains them. */
export async function retention(): Promise<void> {
  await retentions.runRetention();
}

const purges = proxyActivities<Of<'startDuePurges' | 'purgeWorkspaces'>>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:ws-purge`: purges organizations past their grace period and archived workspaces past theirs, by what the rows say. */
export async function wsPurge(): Promise<void> {
  await purges.startDuePurges();
  await purges.purgeWorkspaces();
}

/** Activities that request long lists from a Git host: its limits require long delays. */
const hosts = proxyActivities<Of<'redeliverGithub' | 'sweepReviews'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes', maximumAttempts: 5 },
});

/** Schedule `maint:github-redeliver`, every hour: asks the host to redeliver deliveries that never arrived. */
export async function githubRedeliver(): Promise<void> {
  await hosts.redeliverGithub();
}

/** Schedule `maint:review-sweep`, every day: deletes old events and mirrors, wakes pull requests that wait without a workflow. */
export async function reviewSweep(): Promise<void> {
  await hosts.sweepReviews();
}

// One try: the schedule starts the next pass in 20 s.
const passes = proxyActivities<Of<'reconcileRuns'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
});

/** Schedule `maint:reconcile`: one pass over the runs whose row and workflow may have diverged. */
export async function reconcile(): Promise<void> {
  await passes.reconcileRuns();
}

const budgets = proxyActivities<Of<'tendBudgets'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** Schedule `maint:budget-holds`, every thirty seconds: handles holds past their lease and windows past their end. */
export async function budgetHolds(): Promise<void> {
  await budgets.tendBudgets();
}

const syncs = proxyActivities<Of<'startDueSyncs'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** Schedule `maint:toolkit-syncs`: starts the syncs of MCP toolkits that are due. */
export async function toolkitSyncs(): Promise<void> {
  await syncs.startDueSyncs();
}

const seals = proxyActivities<Of<'sealAudit'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** Schedule `maint:audit-seal`: numbers and seals the audit entries of every chain. It takes whatever is unsealed, so a missed tick costs nothing. */
export async function auditSeal(): Promise<void> {
  await seals.sealAudit();
}

const keys = proxyActivities<Of<'turnSigningKeys'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:signing-keys`: every 90 days publishes a successor; a day later it signs and the old key retires. */
export async function signingKeys(): Promise<void> {
  await keys.turnSigningKeys();
}

const archives = proxyActivities<Of<'tendFrames'>>({
  startToCloseTimeout: '50 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:frames`: merges archives of ended runs into fewer, larger chunks, and 30 days later removes what later frames repeat. */
export async function tendArchives(): Promise<void> {
  await archives.tendFrames();
}

const reembeds = proxyActivities<Of<'tendReembeds'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 3 },
});

/** Schedule `maint:reembeds`, every five minutes: tends work on knowledge bases whose workflow is lost. */
export async function tendReembeds(): Promise<void> {
  await reembeds.tendReembeds();
}

const triggers = proxyActivities<Of<'tendTriggers'>>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** Schedule `maint:triggers`, every ten minutes: tends backfills and instants that no workflow works on. */
export async function tendTriggers(): Promise<void> {
  await triggers.tendTriggers();
}
