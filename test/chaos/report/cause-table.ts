import { causeKinds } from '../checker/record.ts';
import type { PlayedCause } from '../seed.ts';

type Row = readonly (string | number)[];

/** What strikes, by the beginning of the names of blows. */
const families = [
  ['worker', /worker/],
  ['API', /^api|API/],
  ['PostgreSQL', /^postgres|PostgreSQL/],
  ['Redis', /^redis|Redis/],
  ['Temporal', /^temporal|Temporal/],
  ['model', /^model/],
  ['all at once', /^(?:all|everything)/],
  ['clock', /^clock/],
] as const;

/** Head and rows: cause × what was broken while it was under way → how many, and what came of them. */
export function causeRows(causes: readonly PlayedCause[]): readonly Row[] {
  const head = ['cause', 'taken', 'runs', 'none', 'more than one', ...families.map(([name]) => `under: ${name}`), 'outcome'];
  const rows = causeKinds.map((kind): Row => {
    const of = causes.filter((cause) => cause.kind === kind && cause.isTaken);
    const [lost, doubled] = [of.filter(({ runs, expected }) => runs < expected), of.filter(({ runs, expected }) => runs > expected)];
    const under = families.map(([, isOf]) => of.filter(({ blows }) => blows.some((name) => isOf.test(name))).length);
    const runs = of.reduce((sum, cause) => sum + cause.runs, 0);
    const outcome = lost.length + doubled.length === 0 ? 'one run each' : '**broken**';
    return [kind, of.length, runs, lost.length, doubled.length, ...under, outcome];
  });
  return [head, ...rows];
}
