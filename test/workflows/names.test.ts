import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { runIdOf, taskQueues, tenantHeader, workflowIds } from '../../workflows/contracts/queues.ts';
import { deliveryActivityNames } from '../../workflows/contracts/upkeep/delivery.ts';
import { eventFanOut } from '../../workflows/contracts/triggers/events.ts';
import { evaluationChanged } from '../../workflows/contracts/evaluations.ts';
import { itemsPending } from '../../workflows/contracts/knowledge/items.ts';
import { knowledgeRunSignals, policyChanged } from '../../workflows/contracts/knowledge/runs.ts';
import { maintenanceActivityNames } from '../../workflows/contracts/upkeep/maintenance.ts';
import { channelChanged, channelRunChanged } from '../../workflows/contracts/triggers/channels.ts';
import {
  bindingChanged,
  bindingStopWorkflow,
  pullRequestChanged,
  pullRequestWorkflow,
} from '../../workflows/contracts/review/pull-requests.ts';
import { deliveriesCame } from '../../workflows/contracts/triggers/webhooks.ts';
import { ensureBundle } from '../../workers/build-bundle.ts';
import * as workflows from '../../workflows/index.ts';
import { fakeRuns } from '../fakes/run-activities.ts';

// What histories have recorded can't be renamed: a change here breaks every run in flight.
test('names of workflows, activities, signals, queues, ids and the header are what histories hold', () => {
  expect(Object.keys(workflows).toSorted()).toEqual([
    'agentRun',
    'alertSweep',
    'alertTick',
    'attachmentScan',
    'attachmentSweep',
    'auditSeal',
    'backfillSchedule',
    'bindingStop',
    'budgetHolds',
    'bulkCancel',
    'channelReply',
    'channelSync',
    'closeGroups',
    'codeReviewRun',
    'delayedStart',
    'deliver',
    'delivery',
    'evaluation',
    'fanOut',
    'fireSchedule',
    'githubRedeliver',
    'httpSweep',
    'identitySweep',
    'indexBase',
    'ingestSource',
    'knowledgeRun',
    'knowledgeUpkeep',
    'orgPurge',
    'orgStop',
    'policyRun',
    'policySync',
    'pullRequest',
    'reconcile',
    'reembedBase',
    'retention',
    'reviewSweep',
    'signingKeys',
    'tendArchives',
    'tendReembeds',
    'tendTriggers',
    'toolTest',
    'toolkitSync',
    'toolkitSyncs',
    'triggerSync',
    'writeItem',
    'wsPurge',
    'wsStop',
  ]);
  expect(Object.keys(fakeRuns().activities).toSorted()).toEqual([
    'beginRun',
    'callModel',
    'finishRun',
    'openChild',
    'openGates',
    'runTool',
    'settleGates',
    'settleTool',
  ]);
  expect(maintenanceActivityNames).toEqual([
    'reconcileRuns',
    'sweepIdempotency',
    'sweepOutbox',
    'tendFrames',
    'sealAudit',
    'runRetention',
    'sweepIdentity',
    'turnSigningKeys',
    'startDuePurges',
    'purgeWorkspaces',
    'startDueSyncs',
    'sweepAttachments',
    'tendTriggers',
    'tendBudgets',
    'tendReembeds',
    'tendVectorIndexes',
    'dueAlertOrganizations',
    'judgeAlerts',
    'sweepAlerts',
    'sweepEmbeddings',
    'redeliverGithub',
    'sweepReviews',
  ]);
  expect(deliveryActivityNames).toEqual(['sendMail']);
  expect(knowledgeRunSignals).toEqual({ cancel: 'cancelKnowledgeRun', budgetChanged: 'budgetChanged' });
  expect(policyChanged).toBe('policyChanged');
  expect([workflowIds.knowledgeRun('x'), workflowIds.policySync('x'), workflowIds.policy('x'), workflowIds.policyRun('x')]).toEqual([
    'maint:x',
    'maint:policy-sync:x',
    'maint:policy:x',
    'maint:policy-run:x',
  ]);
  expect(workflowIds.delivery('x')).toBe('delivery:x');
  expect(agentRunSignals).toEqual({
    inputAdded: 'inputAdded',
    approvalDecided: 'approvalDecided',
    resultsAdded: 'resultsAdded',
    budgetChanged: 'budgetChanged',
  });
  expect(taskQueues).toEqual({ runs: 'runs', bulk: 'bulk' });
  expect(workflowIds.run('x')).toBe('run:x');
  expect(workflowIds.delayedStart('x')).toBe('start:x');
  expect(workflowIds.bulkCancel('x')).toBe('cancel:x');
  expect(workflowIds.indexBase('x')).toBe('index:x');
  expect(itemsPending).toBe('itemsPending');
  expect(workflowIds.scan('x')).toBe('scan:x');
  expect(workflowIds.triggerSync('x')).toBe('maint:trigger-sync:x');
  expect(workflowIds.trigger('x')).toBe('trigger:x');
  expect(workflowIds.fire('x')).toBe('fire:x');
  expect(workflowIds.hook('x', 'y')).toBe('hook:x:y');
  expect(deliveriesCame).toBe('deliveriesCame');
  expect([workflowIds.event('x'), eventFanOut]).toEqual(['event:x', 'fanOut']);
  expect([workflowIds.channelReply('x'), workflowIds.channelSync('x')]).toEqual(['delivery:channel:x', 'maint:trigger-sync:x']);
  expect([channelRunChanged, channelChanged]).toEqual(['channelRunChanged', 'channelChanged']);
  expect([workflowIds.review('x', 7), workflowIds.bindingStop('x')]).toEqual(['review:x:7', 'binding-stop:x']);
  expect([pullRequestWorkflow, pullRequestChanged, bindingStopWorkflow, bindingChanged]).toEqual([
    'pullRequest',
    'pullRequestChanged',
    'bindingStop',
    'bindingChanged',
  ]);
  expect([workflowIds.evaluation('x'), evaluationChanged]).toEqual(['eval:x', 'evaluationChanged']);
  expect(workflowIds.bulkCancel('x')).toBe('cancel:x');
  expect(workflowIds.toolTest('x')).toBe('tooltest:x');
  expect(workflowIds.maintenance('x')).toBe('maint:x');
  expect(tenantHeader).toBe('longhaul-tenant');
});

test('only whole run ids are taken out of workflow ids', () => {
  const id = '0190163d-8694-739b-aea5-966c26f8ad91';

  expect(runIdOf(workflowIds.run(id))).toBe(id);
  expect(runIdOf(`${workflowIds.run(id)}-2026-01-01T00:00:00Z`)).toBeNull();
  expect(runIdOf('maint:reconcile')).toBeNull();
});

test('the bundle holds workflow code and the SDK, nothing else', async () => {
  const code = readFileSync(await ensureBundle(), 'utf8');
  const modules = new Set([...code.matchAll(/"\.\/node_modules\/((?:@[^/"]+\/)?[^/"]+)/g)].map((match) => match[1]));
  const folders = new Set([...code.matchAll(/"\.\/(?!node_modules)([^/"]+)\//g)].map((match) => match[1]));

  expect([...modules].toSorted()).toEqual(['@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc']);
  expect([...folders]).toEqual(['workflows']);
});
