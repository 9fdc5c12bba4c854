// Records a history of each workflow beside `agentRun`, for replay.test.ts: `TEMPORAL_ADDRESS=… node test/replay/record-others.ts [name…]`.
// As in record.ts: a changed loop needs a patch, not a new recording.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { testNamespace } from '../support/temporal.ts';
import { startTestWorker } from '../support/worker.ts';

type Answer = () => unknown;

interface Scenario {
  readonly type: string;
  readonly args?: readonly unknown[];
  /** What each activity gives, the first time, the second, and so on; the last answer all further times. */
  readonly activities: Readonly<Record<string, readonly Answer[]>>;
  /** Which execution of the chain is kept; the last by default. */
  readonly execution?: 'first';
}

const gives =
  (value: unknown): Answer =>
  () =>
    value;
const fails: Answer = () => {
  throw ApplicationFailure.nonRetryable('refused', 'internal_error');
};
const nothing = [gives(undefined)];
const goesOn = [gives('go_on')];
const done = gives({ outcome: 'done' });
const pausedStep: Answer = () => ({ outcome: 'paused', until: new Date(Date.now() + 1_000).toISOString() });
const ids = Array.from({ length: 9 }, () => randomUUID());
const tick = { dueAlertOrganizations: [gives(ids), gives([])], judgeAlerts: [gives(3), fails, gives(0)] };
const purge = { openPurge: [gives({ isOpen: true, tables: ['runs', 'agents'] })], stopAll: [gives(1), gives(0)] };
const single = (type: string, activity: string, ...args: unknown[]): Scenario => ({ type, args, activities: { [activity]: nothing } });

const scenarios: Readonly<Record<string, Scenario>> = {
  'evaluation': {
    type: 'evaluation',
    args: [{ evaluationRunId: randomUUID() }],
    activities: {
      beginEvaluation: [gives(true)],
      advanceEvaluation: [gives({ outcome: 'waiting' }), done],
      stopEvaluation: nothing,
      exportEvaluation: [fails],
      finishEvaluation: nothing,
    },
  },
  'deliver': {
    type: 'deliver',
    args: [{ source: 'alert', deliveryId: randomUUID() }],
    activities: { attemptDelivery: [gives({ isOver: false, waitMs: 50 }), gives({ isOver: true })] },
  },
  'alert-tick': { type: 'alertTick', activities: tick, execution: 'first' },
  'alert-tick-last': { type: 'alertTick', activities: tick },
  'delayed-start': {
    type: 'delayedStart',
    args: [{ runId: randomUUID() }],
    activities: { admitRun: [gives({ done: false, dueInMs: 50 }), gives({ done: true, dueInMs: 0 })] },
  },
  'bulk-cancel': {
    type: 'bulkCancel',
    args: [{ requestId: randomUUID() }],
    activities: { cancelMatching: [gives({ more: true }), gives({ more: false })] },
  },
  'mail': { type: 'delivery', args: [{ outboxId: randomUUID() }], activities: { sendMail: [gives('sent')] } },
  'org-purge': {
    type: 'orgPurge',
    activities: {
      ...purge,
      deleteRows: [gives(false), gives(true)],
      deleteObjects: nothing,
      dropKeys: nothing,
      tombstone: [gives(false), gives(true)],
    },
  },
  'org-purge-failed': { type: 'orgPurge', activities: { ...purge, deleteRows: [fails], failPurge: nothing } },
  'org-stop': {
    type: 'orgStop',
    activities: { cancelRuns: [gives({ isStopped: true, cancelled: 2 }), gives({ isStopped: true, cancelled: 0 })] },
  },
  'ws-stop': { type: 'wsStop', activities: { cancelRuns: [gives({ isStopped: false, cancelled: 0 })] } },
  'close-groups': {
    type: 'closeGroups',
    args: [{ endpointId: randomUUID(), key: '00' }],
    activities: {
      closeGroup: [gives({ state: 'waiting', waitMs: 50, isEager: false }), gives({ state: 'closed' }), gives({ state: 'idle' })],
    },
  },
  'backfill-schedule': {
    type: 'backfillSchedule',
    args: [{ backfillId: randomUUID() }],
    activities: {
      advanceBackfill: [
        gives({ state: 'waiting', waitMs: 50, isEager: true }),
        gives({ state: 'waiting', waitMs: 50, isEager: false }),
        gives({ state: 'ended' }),
      ],
    },
  },
  'close-event-groups': {
    type: 'closeGroups',
    args: [{ triggerId: randomUUID(), key: '00' }],
    activities: {
      closeGroup: [gives({ state: 'waiting', waitMs: 50, isEager: true }), gives({ state: 'closed' }), gives({ state: 'idle' })],
    },
  },
  'fan-out': { type: 'fanOut', args: [{ eventId: randomUUID() }], activities: { fanOutEvent: [gives(false), gives(true)] } },
  'channel-reply': {
    type: 'channelReply',
    args: [{ messageId: randomUUID() }],
    activities: {
      fetchFiles: [fails],
      planParts: [
        gives({
          due: [
            { kind: 'reply', part: 0 },
            { kind: 'reply', part: 1 },
          ],
          isOver: true,
          streams: false,
        }),
      ],
      deliverPart: [gives({ isOver: false, waitMs: 50 }), gives({ isOver: true })],
    },
  },
  'channel-sync': { type: 'channelSync', args: [{ channelId: randomUUID() }], activities: { syncChannel: [gives(false), gives(true)] } },
  'trigger-sync': {
    type: 'triggerSync',
    args: [{ scheduleId: randomUUID() }],
    activities: { syncSchedule: [gives(false), gives(true)] },
  },
  'toolkit-sync': { type: 'toolkitSync', args: [{ toolkitId: randomUUID() }], activities: { syncToolkit: nothing } },
  'toolkit-sync-failed': {
    type: 'toolkitSync',
    args: [{ toolkitId: randomUUID() }],
    activities: { syncToolkit: [fails], failSync: nothing },
  },
  'index-base': {
    type: 'indexBase',
    args: [{ kbId: randomUUID() }],
    activities: { indexItems: [gives('more'), fails, gives('done')], failItems: nothing },
  },
  'ingest': {
    type: 'ingestSource',
    args: [{ sourceId: randomUUID(), runId: randomUUID() }],
    activities: { fetchSource: goesOn, parseSource: goesOn, indexSource: goesOn, publishSource: [gives('ended')] },
  },
  'ingest-failed': {
    type: 'ingestSource',
    args: [{ sourceId: randomUUID(), runId: randomUUID() }],
    activities: { fetchSource: goesOn, parseSource: [fails], failSource: nothing },
  },
  'write-item': {
    type: 'writeItem',
    args: [{ runId: randomUUID(), toolCallId: randomUUID(), kbId: randomUUID() }],
    activities: { writeKnowledge: [gives(true), gives(false)] },
  },
  'knowledge-run': {
    type: 'knowledgeRun',
    args: [{ runId: randomUUID() }],
    activities: { advanceKnowledgeRun: [gives({ outcome: 'more' }), pausedStep, gives({ outcome: 'ended' })] },
  },
  'knowledge-run-failed': {
    type: 'knowledgeRun',
    args: [{ runId: randomUUID() }],
    activities: { advanceKnowledgeRun: [gives({ outcome: 'more' }), fails], endKnowledgeRun: nothing },
  },
  'reembed': {
    type: 'reembedBase',
    args: [{ runId: randomUUID() }],
    activities: {
      embedRange: [gives({ outcome: 'more' }), pausedStep, done],
      buildIndex: nothing,
      verifySample: [done],
      cutOver: [done],
    },
  },
  'reembed-failed': {
    type: 'reembedBase',
    args: [{ runId: randomUUID() }],
    activities: { embedRange: [done], buildIndex: [fails], verifySample: [gives({ outcome: 'stopped' })], compensate: nothing },
  },
  'policy-sync': { type: 'policySync', args: [{ kbId: randomUUID() }], activities: { syncPolicy: [gives(false), gives(true)] } },
  'policy-run': single('policyRun', 'startPolicyRun', { kbId: randomUUID() }),
  'knowledge-upkeep': { type: 'knowledgeUpkeep', activities: { sweepEmbeddings: nothing, tendVectorIndexes: nothing } },
  'tend-reembeds': single('tendReembeds', 'tendReembeds'),
  'github-redeliver': single('githubRedeliver', 'redeliverGithub'),
  'review-sweep': single('reviewSweep', 'sweepReviews'),
  'binding-stop': {
    type: 'bindingStop',
    args: [{ bindingId: randomUUID() }],
    activities: { applyBinding: [gives(true), gives(false)] },
  },
  'code-review-run': {
    type: 'codeReviewRun',
    args: [{ runId: randomUUID() }],
    activities: {
      beginRun: [gives({ done: false, maxSteps: 1, remainingMs: 60_000, cancelRequested: false })],
      fetchDiff: [gives({ kind: 'review', posts: true, checks: true })],
      openCheck: nothing,
      nextCalls: [
        gives({ calls: [{ stage: 'summary', ordinal: 0, step: 3 }], nextStep: 4 }),
        gives({ calls: [4, 5, 6, 7, 8].map((step) => ({ stage: 'pass', ordinal: step, step })), nextStep: 9 }),
        gives({ calls: [], nextStep: 9 }),
      ],
      askStages: nothing,
      postReview: [gives({ outcome: 'posted' })],
      settleThreads: nothing,
      concludeCheck: nothing,
      finishReview: nothing,
      finishRun: [gives({ more: false })],
      endReview: nothing,
    },
  },
  'code-review-run-stale': {
    type: 'codeReviewRun',
    args: [{ runId: randomUUID() }],
    activities: {
      beginRun: [gives({ done: false, maxSteps: 1, remainingMs: 60_000, cancelRequested: false })],
      fetchDiff: [gives({ kind: 'review', posts: true, checks: true })],
      openCheck: nothing,
      nextCalls: [gives({ calls: [], nextStep: 3 })],
      postReview: [gives({ outcome: 'stale' })],
      finishRun: [gives({ more: false })],
      abandonCheck: nothing,
      endReview: nothing,
    },
  },
  'code-review-run-late': {
    type: 'codeReviewRun',
    args: [{ runId: randomUUID() }],
    activities: {
      beginRun: [gives({ done: false, maxSteps: 1, remainingMs: 300, cancelRequested: false })],
      fetchDiff: [gives({ kind: 'review', posts: true, checks: true })],
      openCheck: nothing,
      nextCalls: [gives({ calls: [{ stage: 'summary', ordinal: 0, step: 3 }], nextStep: 4 })],
      askStages: [() => new Promise((resolve) => setTimeout(resolve, 2_000))],
      finishRun: [gives({ more: false })],
      abandonCheck: nothing,
      endReview: nothing,
    },
  },
  'code-review-run-timed': {
    type: 'codeReviewRun',
    args: [{ runId: randomUUID() }],
    activities: {
      beginRun: [gives({ done: false, maxSteps: 1, remainingMs: 60_000, cancelRequested: false })],
      fetchDiff: [gives({ kind: 'review', posts: true, checks: true })],
      openCheck: nothing,
      nextCalls: [gives({ calls: [{ stage: 'summary', ordinal: 0, step: 3 }], nextStep: 4 }), gives({ calls: [], nextStep: 4 })],
      askStages: nothing,
      postReview: [gives({ outcome: 'posted' })],
      settleThreads: nothing,
      concludeCheck: nothing,
      finishReview: nothing,
      finishRun: [gives({ more: false })],
      endReview: nothing,
    },
  },
  'pull-request-closed': {
    type: 'pullRequest',
    args: [{ bindingId: randomUUID(), pullNumber: 7 }],
    activities: {
      applyEvent: [
        gives({ kind: 'reactions' }),
        gives({ kind: 'wait', waitMs: 200 }),
        gives({ kind: 'reactions' }),
        gives({ kind: 'end' }),
      ],
      readReactions: nothing,
    },
  },
  'pull-request': {
    type: 'pullRequest',
    args: [{ bindingId: randomUUID(), pullNumber: 7 }],
    activities: {
      applyEvent: [
        gives({ kind: 'command', commandId: randomUUID() }),
        gives({ kind: 'open' }),
        gives({ kind: 'run', runId: randomUUID() }),
        gives({ kind: 'wait', waitMs: 200 }),
        gives({ kind: 'again' }),
        gives({ kind: 'end' }),
      ],
      takeCommand: [gives({ isAccepted: true, hasReply: true, threads: true })],
      reactToCommand: [fails],
      replyToCommand: nothing,
      settlePullThreads: nothing,
      openReviewRun: nothing,
      endReviewRun: nothing,
      dropCommand: nothing,
      // The run has ended before its workflow begins.
      beginRun: [gives({ done: true })],
    },
  },
  'http-sweep': { type: 'httpSweep', activities: { sweepIdempotency: nothing, sweepOutbox: nothing } },
  'ws-purge': { type: 'wsPurge', activities: { startDuePurges: nothing, purgeWorkspaces: nothing } },
  'fire-schedule': single('fireSchedule', 'fireOccurrence', { scheduleId: randomUUID() }),
  'attachment-scan': single('attachmentScan', 'scanAttachment', { attachmentId: randomUUID() }),
  'tool-test': single('toolTest', 'testTool', { testId: randomUUID() }),
  'alert-sweep': single('alertSweep', 'sweepAlerts'),
  'attachment-sweep': single('attachmentSweep', 'sweepAttachments'),
  'audit-seal': single('auditSeal', 'sealAudit'),
  'budget-holds': single('budgetHolds', 'tendBudgets'),
  'identity-sweep': single('identitySweep', 'sweepIdentity'),
  'reconcile': single('reconcile', 'reconcileRuns'),
  'retention': single('retention', 'runRetention'),
  'signing-keys': single('signingKeys', 'turnSigningKeys'),
  'tend-archives': single('tendArchives', 'tendFrames'),
  'tend-triggers': single('tendTriggers', 'tendTriggers'),
  'toolkit-syncs': single('toolkitSyncs', 'startDueSyncs'),
};

let script: Scenario['activities'] = {};
const calls = new Map<string, number>();
const names = [...new Set(Object.values(scenarios).flatMap(({ activities }) => Object.keys(activities)))];
const fakes = Object.fromEntries(names.map((name) => [name, async () => next(name)]));

const wanted = process.argv.slice(2);
const place = await testNamespace();
const worker = await startTestWorker(place, fakes, names);
for (const [name, scenario] of Object.entries(scenarios))
  if (wanted.length === 0 || wanted.includes(name))
    await writeFile(join(import.meta.dirname, 'histories', `${name}.json`), await record(scenario));
await worker.stop();
await place.close();

function next(name: string): unknown {
  const answers = script[name] ?? [];
  const at = calls.get(name) ?? 0;
  calls.set(name, at + 1);
  const answer = answers[Math.min(at, answers.length - 1)];
  if (!answer) throw ApplicationFailure.nonRetryable(`the scenario has no answer of ${name}`);
  return answer();
}

async function record({ type, args = [], activities, execution }: Scenario): Promise<string> {
  script = activities;
  calls.clear();
  const { workflow } = place.temporal.client;
  const handle = await workflow.start(type, { workflowId: `record:${randomUUID()}`, taskQueue: 'runs', args: [...args] });
  await handle.result();
  const kept = execution === 'first' ? workflow.getHandle(handle.workflowId, handle.firstExecutionRunId) : handle;
  return `${JSON.stringify(JSON.parse(historyToJSON(await kept.fetchHistory())))}\n`;
}
