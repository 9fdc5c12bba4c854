import { readFacts, readJudgeCost } from '../../db/evaluations/facts.ts';
import { readEvaluationState, type EvaluationState } from '../../db/evaluations/work.ts';
import { compareWithBaseline } from '../../domain/evaluations/baseline.ts';
import { collectFacts, type EvaluationFacts } from '../../domain/evaluations/item-facts.ts';
import { summarize } from '../../domain/evaluations/summary.ts';
import type { EndCounts } from '../../domain/evaluations/lifecycle.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem } from '../support/as-system.ts';

/** Results that are read and added up at once: a few milliseconds. */
const pageSize = 1_000;

/**
 * Returns the numbers over the ended results of an evaluation, compared with its baseline, and the counts that decide how it ends. The event loop is free
 * between slices.
 */
export async function summaryOf(
  deps: ActivityDeps,
  evaluation: EvaluationState,
): Promise<{ readonly summary: Readonly<Record<string, unknown>>; readonly counts: EndCounts }> {
  const facts = await factsOf(deps, evaluation.id);
  const judgeCost = await readAsSystem(deps, (tx) => readJudgeCost(tx, evaluation));
  const numbers = summarize(facts, evaluation.evaluators, judgeCost);
  const baseline = await baselineOf(deps, evaluation, facts);
  return { summary: { ...numbers, baseline }, counts: { results: facts.results, errors: facts.errors } };
}

async function baselineOf(deps: ActivityDeps, { id, baselineId, evaluators }: EvaluationState, facts: EvaluationFacts) {
  const base = baselineId === null ? null : await readAsSystem(deps, (tx) => readEvaluationState(tx, baselineId));
  if (base === null) return null;
  const other = { evaluationRunId: base.id, evaluators: base.evaluators, facts: await factsOf(deps, base.id) };
  return compareWithBaseline({ evaluationRunId: id, evaluators, facts }, other, pause);
}

async function factsOf(deps: ActivityDeps, evaluationRunId: string): Promise<EvaluationFacts> {
  const collector = collectFacts();
  for (let after = { position: 0, repetition: 0 }; ;) {
    const behind = after;
    const page = await readAsSystem(deps, (tx) => readFacts(tx, evaluationRunId, { after: behind, limit: pageSize }));
    collector.add(page);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return collector.end();
    after = last;
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
