import { Counter, Histogram, type Metric } from 'prom-client';
import { deliveryResults, type DeliveryResult } from '../../workflows/contracts/upkeep/delivery.ts';
import type { ReconcileReport } from '../../workflows/contracts/upkeep/maintenance.ts';
import { toolKinds, toolResultCodes } from '../../workflows/contracts/runs/runs.ts';
import { knownLabels } from './labels.ts';

/** Outcomes of a call besides the reasons of its own kind. */
const commonOutcomes = ['ok', 'aborted'] as const;
/** Why a model call failed, as steps and logs name it. */
export const modelFaults = [
  'rate_limited',
  'unavailable',
  'unreachable',
  'stream_cut',
  'stream_idle',
  'auth_refused',
  'rejected',
  'content_refused',
  'context_too_long',
] as const;
export type ModelFault = (typeof modelFaults)[number];

/** What the activities of a worker process count. */
export interface ActivityMetrics {
  /** Counts one model call: `ok`, `aborted` (by a cancel, a shutdown or a limit of ours), or why the provider's side failed. */
  modelCalled(provider: string, outcome: string, seconds: number): void;
  /** Counts one execution of a tool: `ok`, `aborted`, or the code of its failed result. */
  toolCalled(kind: string | null, outcome: string, seconds: number): void;
  /** Counts one pass of the reconciler. */
  repaired(report: ReconcileReport): void;
  /** Counts one try of a mail: its result, or `failed` when it is retried. */
  mailTried(result: DeliveryResult | 'failed'): void;
  /** Counts one try of a notice to one receiver: its result, or `failed` when it is retried. */
  noticeTried(kind: NoticeKind, result: NoticeResult): void;
  /** In no registry: the process registers them. */
  readonly all: readonly Metric[];
}

const modelBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800];
const toolBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const repairKinds = ['started', 'finished', 'terminated', 'activated'] as const satisfies readonly (keyof ReconcileReport)[];
const noticeKinds = ['user', 'webhook', 'slack', 'callback'] as const;
export type NoticeKind = (typeof noticeKinds)[number];
const noticeResults = ['sent', 'failed', 'dead'] as const;
export type NoticeResult = (typeof noticeResults)[number];
const registers: [] = [];

/** Creates the metrics of one worker process; those of all workers add up. `providers`: ids in the deployment's model registry. */
export function createActivityMetrics(providers: readonly string[]): ActivityMetrics {
  const { models, tools, repairs, mails, notices } = createMeters();
  const providerOf = knownLabels(providers);
  const modelOutcomeOf = knownLabels([...commonOutcomes, ...modelFaults]);
  const kindOf = knownLabels(toolKinds);
  const toolOutcomeOf = knownLabels([...commonOutcomes, ...toolResultCodes]);
  for (const kind of repairKinds) repairs.inc({ kind }, 0);
  for (const result of [...deliveryResults, 'failed']) mails.inc({ result }, 0);
  for (const kind of noticeKinds) for (const result of noticeResults) notices.inc({ kind, result }, 0);

  return {
    modelCalled: (provider, outcome, seconds) =>
      models.observe({ provider: providerOf(provider), outcome: modelOutcomeOf(outcome) }, seconds),
    toolCalled: (kind, outcome, seconds) => tools.observe({ kind: kindOf(kind), outcome: toolOutcomeOf(outcome) }, seconds),
    repaired: (report) => {
      for (const kind of repairKinds) repairs.inc({ kind }, report[kind]);
    },
    mailTried: (result) => mails.inc({ result }),
    noticeTried: (kind, result) => notices.inc({ kind, result }),
    all: [models, tools, repairs, mails, notices],
  };
}

function createMeters() {
  const models = new Histogram({
    name: 'longhaul_model_call_duration_seconds',
    help: 'Duration of model calls, each try by itself, by how it ended',
    labelNames: ['provider', 'outcome'],
    buckets: modelBuckets,
    registers,
  });
  const tools = new Histogram({
    name: 'longhaul_tool_call_duration_seconds',
    help: 'Duration of tool calls that a worker executed, each try by itself, by how it ended',
    labelNames: ['kind', 'outcome'],
    buckets: toolBuckets,
    registers,
  });
  const repairs = new Counter({
    name: 'longhaul_reconciler_repairs_total',
    help: 'What the reconciler found apart and repaired',
    labelNames: ['kind'],
    registers,
  });
  const mails = new Counter({
    name: 'longhaul_mail_tries_total',
    help: 'Tries of mails by how they ended; failed ones are made again',
    labelNames: ['result'],
    registers,
  });
  const notices = new Counter({
    name: 'longhaul_notice_tries_total',
    help: 'Tries of notices of alerts by receiver and how they ended; failed ones are made again',
    labelNames: ['kind', 'result'],
    registers,
  });
  return { models, tools, repairs, mails, notices };
}
