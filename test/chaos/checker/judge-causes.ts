import type { AnswerFact, Evidence, Fault, RunFact } from './evidence.ts';
import { isWornOut } from './judge-expected.ts';
import { markersIn, type Cause } from './record.ts';

/** What became of one cause. */
export interface CauseOutcome {
  readonly cause: Cause;
  readonly runs: readonly RunFact[];
  /** How many runs it starts, whatever happens meanwhile. */
  readonly expected: number;
  readonly endedAt: number;
}

/** Which runs hold each cause. */
export function outcomesOf({ client, runs }: Pick<Evidence, 'client' | 'runs'>, triggersOfEvent: number): CauseOutcome[] {
  const byMarker = new Map<string, RunFact[]>();
  for (const run of runs)
    if (run.parent_run_id === null && run.retry_of_run_id === null)
      for (const marker of markersIn(run.input_text ?? '')) byMarker.set(marker, [...(byMarker.get(marker) ?? []), run]);
  return client.causes.map((cause) => {
    const of = byMarker.get(cause.marker) ?? [];
    const endedAt = Math.max(cause.askedAt, ...of.map((run) => Date.parse(run.finished_at ?? '') || 0));
    return { cause, runs: of, expected: cause.kind === 'event' ? triggersOfEvent : 1, endedAt };
  });
}

/**
 * Each cause that was taken has its run, one of each trigger of an event, and no more; one that was not may have none. What its sender was told of is that run. A run
 * of a callback or of a channel has one answer, which arrived, under no other id however often it was sent.
 */
export function judgeCauses(evidence: Evidence, triggersOfEvent: number): Fault[] {
  const outcomes = outcomesOf(evidence, triggersOfEvent);
  return [
    ...outcomes.flatMap((outcome) => countFaults(outcome, evidence)),
    ...outcomes.flatMap(({ cause, runs }) =>
      cause.runIds
        .filter((id) => !runs.some((run) => run.id === id))
        .map((id) => `${cause.marker}: its sender (${cause.kind}) was told of run ${id}, which is not of it`),
    ),
    ...outcomes.flatMap(({ cause, runs }) =>
      runs
        .filter((run) => run.status !== 'succeeded' && !isWornOut(evidence, run))
        .map((run) => `${run.id}: one of a ${cause.kind} ended ${run.status}, ${run.finish_reason}, ${JSON.stringify(run.error)}`),
    ),
    ...outcomes
      .filter(({ cause }) => cause.kind === 'hook callback' || cause.kind === 'channel message')
      .flatMap(({ cause, runs }) => runs.flatMap((run) => answerFaults(cause, run, evidence))),
    ...unknownAnswers(evidence),
  ];
}

function countFaults({ cause, runs, expected }: CauseOutcome, { deliveries }: Evidence): Fault[] {
  const triggers = new Set(runs.map((run) => run.trigger_id));
  if (runs.length > triggers.size) return [`${cause.marker}: one ${cause.kind} started ${runs.length} runs of ${triggers.size} triggers`];
  const told = JSON.stringify(deliveries.filter((delivery) => delivery.delivery_key === cause.marker));
  if (cause.isTaken && runs.length !== expected)
    return [`${cause.marker}: a ${cause.kind} was taken and started ${runs.length} runs, ${told}`];
  return runs.length > expected ? [`${cause.marker}: one ${cause.kind} started ${runs.length} runs`] : [];
}

function answerFaults({ kind }: Cause, run: RunFact, { answers, answered }: Evidence): Fault[] {
  const own = answers.filter((answer) => answer.run_id === run.id && (kind === 'hook callback' || answer.kind !== 'notice'));
  // A run that failed says so in a channel by a notice.
  if (own.length === 0 && kind === 'channel message' && run.status !== 'succeeded') return [];
  if (own.length !== 1) return [`${run.id}: a ${kind} has ${own.length} answers`];
  return own.flatMap(({ id, state }) => [
    ...(isSent(state) ? [] : [`${run.id}: the answer ${id} of a ${kind} is ${state}`]),
    ...(answered.includes(id) ? [] : [`${run.id}: the answer ${id} of a ${kind} never arrived`]),
  ]);
}

function unknownAnswers({ answers, answered }: Evidence): Fault[] {
  const known = new Set(answers.map(({ id }: AnswerFact) => id));
  return [...new Set(answered)].filter((id) => !known.has(id)).map((id) => `an answer came under ${id}, which no row has`);
}

function isSent(state: string): boolean {
  return state === 'delivered' || state === 'sent';
}
