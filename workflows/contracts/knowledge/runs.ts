import { workflowIds } from '../queues.ts';

/** What a run of knowledge does. */
export const knowledgeRunKinds = ['ingest', 'reembed', 'import', 'export', 'maintenance', 'purge'] as const;
export type KnowledgeRunKind = (typeof knowledgeRunKinds)[number];

/** Input of the workflow `maint:<run>`: the row of its run, which holds everything else. */
export interface KnowledgeRunInput {
  readonly runId: string;
}

/** What determines the workflow of a run. `syncNo`: that of the source whose run this is; null for other kinds, and when the source already has another run. */
export interface RunAtWork {
  readonly id: string;
  readonly kind: KnowledgeRunKind;
  readonly targetKbId: string | null;
  readonly sourceId: string | null;
  readonly syncNo: number | null;
}

/** Returns the id of the workflow that does the work of a run; null when none does it any more. */
export function workflowOfRun({ id, kind, targetKbId, sourceId, syncNo }: RunAtWork): string | null {
  if (kind === 'reembed') return targetKbId === null ? null : workflowIds.reembed(targetKbId);
  if (kind !== 'ingest') return workflowIds.knowledgeRun(id);
  return sourceId === null || syncNo === null ? null : workflowIds.ingest(sourceId, syncNo);
}

/** Signals of workflows that work on a run of knowledge. They carry nothing: the receiver reads the row. */
export const knowledgeRunSignals = {
  /** The run is being cancelled; its row says `cancelling`. */
  cancel: 'cancelKnowledgeRun',
  /** A budget of the workspace was written. */
  budgetChanged: 'budgetChanged',
} as const;

/** Outcome of some batches of a run. `more`: it continues; `ended`: its row says how; `paused`: until the signal or the time (ISO 8601). */
export type KnowledgeRunStep = { readonly outcome: 'more' | 'ended' } | { readonly outcome: 'paused'; readonly until: string };

/** Activities of `knowledgeRun`, by the names under which histories record them. Each may be interrupted anywhere and repeated. */
export interface KnowledgeRunActivities {
  /** Processes batches of a run for a while, each in a transaction that also moves the cursor; ends the run after its last batch, or when it is cancelled. */
  advanceKnowledgeRun(input: KnowledgeRunInput): Promise<KnowledgeRunStep>;
  /** Ends a run that is cancelled, or that was given up; one that has ended stays as it is. */
  endKnowledgeRun(input: KnowledgeRunInput): Promise<void>;
}

/** The base whose policy it is. */
export interface PolicyInput {
  readonly kbId: string;
}

/** Signal of `policySync`: the policy has changed and must be read again. Carries nothing. */
export const policyChanged = 'policyChanged';

/** Activities of the workflows of maintenance policies, by the names under which histories record them. */
export interface PolicyActivities {
  /** Makes the schedule `maint:policy:<kb>` match the newest policy. Returns false when the policy has changed meanwhile. */
  syncPolicy(input: PolicyInput): Promise<boolean>;
  /** Starts the run that a policy calls for, once per occasion, unless its last one is still at work. */
  startPolicyRun(input: PolicyInput & { readonly occasion: string }): Promise<void>;
}
