import { triggersOfEvent } from '../load/causes.ts';
import type { Slugs } from '../load/kinds.ts';
import type { Evidence, Fault } from './evidence.ts';
import { judgeBudgets } from './judge-budgets.ts';
import { judgeCauses } from './judge-causes.ts';
import { judgeExpected, judgeResults } from './judge-expected.ts';
import { judgeEffects, judgeUsage, type ModelCount } from './judge-outside.ts';
import { judgeEnds, judgeHistories, judgeOpenRows, judgePromises, judgeTotals } from './judge-rows.ts';
import { judgeCopies, judgeReaders, judgeStreams, type FrameCount } from './judge-streams.ts';

/** What was judged, in numbers. */
export interface Counts {
  readonly acknowledged: number;
  readonly unanswered: number;
  readonly lostRuns: number;
  readonly runs: number;
  /** What happened outside and was taken. */
  readonly causes: number;
  /** The runs among all that such things started. */
  readonly causedRuns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly answers: number;
  readonly inputs: number;
  readonly cancels: number;
  readonly effects: number;
  readonly doubledEffects: number;
  readonly frames: FrameCount;
  readonly model: ModelCount;
}

export interface Verdict {
  /** Empty when every promise was kept. */
  readonly faults: readonly Fault[];
  readonly counts: Counts;
}

/** Holds everything that was recorded against everything that was promised. The same evidence always gets the same verdict. */
export function judge(evidence: Evidence, slugs: Slugs): Verdict {
  const frames: FrameCount = { delivered: 0, lost: 0, doubled: 0 };
  const model: ModelCount = { completed: 0, settled: 0, unsettled: 0 };
  const effectFaults = judgeEffects(evidence);
  const faults = [
    ...judgeEnds(evidence),
    ...judgeOpenRows(evidence),
    ...judgeHistories(evidence),
    ...judgePromises(evidence),
    ...judgeTotals(evidence),
    ...judgeStreams(evidence),
    ...judgeReaders(evidence, frames),
    ...judgeCopies(evidence),
    ...effectFaults,
    ...judgeUsage(evidence, model),
    ...judgeBudgets(evidence),
    ...judgeCauses(evidence, triggersOfEvent),
    ...judgeExpected(evidence),
    ...judgeResults(evidence, slugs),
  ];
  return {
    faults,
    counts: { ...countsOf(evidence), doubledEffects: effectFaults.filter((fault) => fault.includes(' times')).length, frames, model },
  };
}

function countsOf({ client, runs, effects }: Evidence): Omit<Counts, 'frames' | 'model' | 'doubledEffects'> {
  const ids = new Set(runs.map((run) => run.id));
  const acknowledged = client.starts.filter((start) => start.runId !== null);
  const ended = (status: string) => runs.filter((run) => run.status === status).length;
  return {
    acknowledged: acknowledged.length,
    unanswered: client.starts.length - acknowledged.length,
    lostRuns: acknowledged.filter((start) => !ids.has(start.runId ?? '')).length,
    runs: runs.length,
    causes: client.causes.filter((cause) => cause.isTaken).length,
    causedRuns: runs.filter((run) => run.trigger_id !== null && run.parent_run_id === null).length,
    succeeded: ended('succeeded'),
    failed: ended('failed'),
    cancelled: ended('cancelled'),
    answers: client.answers.length,
    inputs: client.inputs.length,
    cancels: client.cancels.length,
    effects: effects.length,
  };
}
