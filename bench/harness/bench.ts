/** What one round of one side measured, by metric. */
export type Sample = Readonly<Record<string, number>>;

/** The bound of a ratio (product to floor) or of a count. */
export interface Budget {
  readonly kind: 'most' | 'least';
  readonly value: number;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One line of the results: both sides as medians, their ratio over the rounds. Without a budget it only informs. */
export interface Finding {
  readonly what: string;
  readonly unit: string;
  readonly floor: number;
  readonly product: number;
  readonly ratio: Spread;
  readonly rounds: number;
  readonly budget: Budget | null;
}

/** A number that must hold in itself, whatever the machine: statements, commits, commands. */
export interface Check {
  readonly what: string;
  readonly value: number;
  readonly budget: Budget;
}

/** Numbers that only inform. */
export interface Table {
  readonly head: readonly string[];
  readonly lines: readonly (readonly string[])[];
}

export interface Outcome {
  readonly findings: readonly Finding[];
  readonly checks: readonly Check[];
  readonly tables?: readonly Table[];
}

export interface BenchOptions {
  readonly rounds: number;
  /** The backing services that the bench has started, as they are called in its state folder; none of those given by URL. */
  readonly services: readonly { readonly name: string; readonly pid: number }[];
  readonly log: (line: string) => void;
}

export interface Bench {
  readonly name: string;
  /** What is compared with what, in one or two sentences. */
  readonly about: string;
  /** PostgreSQL flushes each commit, as in a deployment: for what waits until the holder of a row has committed. Default: it flushes nothing. */
  readonly isDurable?: boolean;
  run(options: BenchOptions): Promise<Outcome>;
}

export const most = (value: number): Budget => ({ kind: 'most', value });
export const least = (value: number): Budget => ({ kind: 'least', value });

export function holds(value: number, budget: Budget): boolean {
  return budget.kind === 'most' ? value <= budget.value : value >= budget.value;
}
