import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/upkeep/maintenance.ts';

// The workflows of maintenance schedules that call one activity or two and decide nothing themselves. Their names stand in `temporal/schedules.ts`.

type Of<Name extends keyof MaintenanceActivities> = Pick<MaintenanceActivities, Name>;

/** What runs once a day or an hour, and deletes: deleting twice is harmless. */
const sweeps = proxyActivities<Of<'sweepAlerts' | 'sweepAttachments' | 'sweepIdempotency' | 'sweepOutbox' | 'sweepIdentity'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:alert-sweep`, daily: alerts that were resolved 400 days ago. */
export async function alertSweep(): Promise<void> {
  await sweeps.sweepAlerts();
}

/** Schedule `maint:attachments`: files that nothing holds, rows first, then bytes without a row. */
export async function attachmentSweep(): Promise<void> {
  await sweeps.sweepAttachments();
}

/** Schedule `maint:http-sweep`: stored replies past their 24 hours, then outbox rows that were sent. */
export async function httpSweep(): Promise<void> {
  await sweeps.sweepIdempotency();
  await sweeps.sweepOutbox();
}

/** Schedule `maint:identity-sweep`: whatever of sign-in and OAuth is past its end. */
export async function identitySweep(): Promise<void> {
  await sweeps.sweepIdentity();
}

const retentions = proxyActivities<Of<'runRetention'>>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:retention`: ends runs, notices, audit entries and failed logins past the days that their organization keeps them. */
export async function retention(): Promise<void> {
  await retentions.runRetention();
}

const purges = proxyActivities<Of<'startDuePurges' | 'purgeWorkspaces'>>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:ws-purge`: organizations past their grace and archived workspaces past theirs, by what the rows say. */
export async function wsPurge(): Promise<void> {
  await purges.startDuePurges();
  await purges.purgeWorkspaces();
}

/** What asks a Git host for a long list: its limits want long pauses. */
const hosts = proxyActivities<Of<'redeliverGithub' | 'sweepReviews'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes', maximumAttempts: 5 },
});

/** Schedule `maint:github-redeliver`, every hour: asks for deliveries again that never came. */
export async function githubRedeliver(): Promise<void> {
  await hosts.redeliverGithub();
}

/** Schedule `maint:review-sweep`, every day: old events and mirrors go, pull requests that wait without a workflow are woken. */
export async function reviewSweep(): Promise<void> {
  await hosts.sweepReviews();
}

// One try: the schedule brings the next pass in 20 s.
const passes = proxyActivities<Of<'reconcileRuns'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
});

/** Schedule `maint:reconcile`: one pass over the runs whose row and workflow may have parted. */
export async function reconcile(): Promise<void> {
  await passes.reconcileRuns();
}

const budgets = proxyActivities<Of<'tendBudgets'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** Schedule `maint:budget-holds`, every thirty seconds: holds past their lease, windows past their end. */
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

/** Schedule `maint:audit-seal`: numbers and seals the audit entries of every chain. By what is unsealed, so a missed tick costs nothing. */
export async function auditSeal(): Promise<void> {
  await seals.sealAudit();
}

const keys = proxyActivities<Of<'turnSigningKeys'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:signing-keys`: every 90 days a successor is published, a day later it signs and the old key retires. */
export async function signingKeys(): Promise<void> {
  await keys.turnSigningKeys();
}

const archives = proxyActivities<Of<'tendFrames'>>({
  startToCloseTimeout: '50 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:frames`: archives of ended runs become fewer, larger chunks, and 30 days later lose what later frames repeat. */
export async function tendArchives(): Promise<void> {
  await archives.tendFrames();
}

const reembeds = proxyActivities<Of<'tendReembeds'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 3 },
});

/** Schedule `maint:reembeds`, every five minutes: work on knowledge bases whose workflow is gone. */
export async function tendReembeds(): Promise<void> {
  await reembeds.tendReembeds();
}

const triggers = proxyActivities<Of<'tendTriggers'>>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** Schedule `maint:triggers`, every ten minutes: backfills and instants that nobody goes on with. */
export async function tendTriggers(): Promise<void> {
  await triggers.tendTriggers();
}
