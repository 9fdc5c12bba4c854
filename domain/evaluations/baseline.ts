import type { StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { benjaminiHochberg, bootstrap, conclusionOf, mcnemar, type Difference, type Pause } from './comparison.ts';
import type { EvaluationFacts, ItemFacts } from './item-facts.ts';
import { isSameJson } from './json-value.ts';
import { hasPassed, passShare, rate, rates } from './summary.ts';

/** An evaluation as a comparison needs it. */
export interface ComparedSide {
  readonly evaluationRunId: string;
  readonly evaluators: readonly StoredEvaluator[];
  readonly facts: EvaluationFacts;
}

type Pair = readonly [own: ItemFacts, base: ItemFacts];

/**
 * Compares an evaluation with its baseline, over the items that both have unchanged (same key and content) and with a value; the others are `unpaired`. Pairs
 * are ordered by key, so that equal rows yield equal numbers.
 */
export async function compareWithBaseline(own: ComparedSide, base: ComparedSide, pause: Pause) {
  const pairs = pairsOf(own.facts, base.facts);
  const judged = pairs.filter(([left, right]) => left.verdicts.count > 0 && right.verdicts.count > 0);
  const wins = judged.filter(([left, right]) => hasPassed(left) && !hasPassed(right)).length;
  const losses = judged.filter(([left, right]) => !hasPassed(left) && hasPassed(right)).length;
  const p = mcnemar(wins, losses);
  const { delta, ci } = await bootstrap(
    judged.map(([left, right]) => passShare(left) - passShare(right)),
    pause,
  );
  return {
    evaluation_run_id: base.evaluationRunId,
    paired_n: judged.length,
    unpaired: own.facts.items.length + base.facts.items.length - 2 * judged.length,
    delta: rate(delta),
    ci: rates(ci),
    wins,
    losses,
    ties: judged.length - wins - losses,
    p_value: rate(p),
    test: 'mcnemar_exact',
    conclusion: conclusionOf(judged.length, p, wins - losses),
    evaluators: await compareEvaluators(own, base, { pairs, pause }),
  };
}

function pairsOf(own: EvaluationFacts, base: EvaluationFacts): Pair[] {
  const known = new Map(base.items.map((item) => [item.key, item]));
  return own.items
    .flatMap((item): Pair[] => {
      const other = known.get(item.key);
      return other !== undefined && other.contentSha256 === item.contentSha256 ? [[item, other]] : [];
    })
    .toSorted(([left], [right]) => (left.key < right.key ? -1 : 1));
}

interface Comparing {
  readonly pairs: readonly Pair[];
  readonly pause: Pause;
}

async function compareEvaluators(own: ComparedSide, base: ComparedSide, { pairs, pause }: Comparing) {
  const shared = own.evaluators.filter((evaluator) => base.evaluators.some((other) => isSameEvaluator(evaluator, other)));
  const found: { readonly key: string; readonly n: number; readonly difference: Difference }[] = [];
  for (const { key } of shared) {
    const differences = pairs.flatMap(([left, right]): number[] => {
      const [own, base] = [left.evaluators.get(key), right.evaluators.get(key)];
      return own && base ? [own.sum / own.count - base.sum / base.count] : [];
    });
    found.push({ key, n: differences.length, difference: await bootstrap(differences, pause) });
  }
  const q = benjaminiHochberg(found.map(({ difference }) => difference.p));
  return Object.fromEntries(
    found.map(({ key, n, difference: { delta, ci, p } }, at) => {
      const adjusted = q[at] ?? null;
      const numbers = { paired_n: n, delta: rate(delta), ci: rates(ci), p_value: rate(p), q_value: rate(adjusted) };
      return [key, { ...numbers, conclusion: conclusionOf(n, adjusted, delta ?? 0) }];
    }),
  );
}

/** Evaluators are the same if key, type, negation and parameters are equal; thresholds and weights change no score. */
function isSameEvaluator(left: StoredEvaluator, right: StoredEvaluator): boolean {
  return left.key === right.key && left.type === right.type && left.negate === right.negate && isSameJson(left.params, right.params);
}
