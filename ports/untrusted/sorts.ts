/** Limits of one job. */
export interface WorkLimits {
  /** Processor time; loading the code of the sort is not counted. */
  readonly cpuMs: number;
  /** Wall-clock time: ends a job that gets no processor, or sleeps without work. */
  readonly wallMs: number;
  /** Memory by which the child may grow, inside its heap and outside it. */
  readonly memoryMb: number;
}

/** One sort of untrusted work: its limits, and the module whose `work` does it. Only a child loads that module, for its first job of the sort. */
export interface Sort<Job, Result> {
  readonly limits: WorkLimits;
  readonly load: () => Promise<{ readonly work: (job: Job) => Result | Promise<Result> }>;
}

/** All sorts of this deployment, one line each. */
export const sorts = {
  schema: sort({ cpuMs: 1_000, wallMs: 60_000, memoryMb: 128 }, () => import('../json/schema-work.ts')),
  template: sort({ cpuMs: 500, wallMs: 60_000, memoryMb: 96 }, () => import('../templates/work.ts')),
  openapi: sort({ cpuMs: 30_000, wallMs: 120_000, memoryMb: 448 }, () => import('../openapi/work.ts')),
  page: sort({ cpuMs: 15_000, wallMs: 120_000, memoryMb: 384 }, () => import('../parsing/formats/page-work.ts')),
  robots: sort({ cpuMs: 500, wallMs: 60_000, memoryMb: 96 }, () => import('../parsing/formats/robots-work.ts')),
  diff: sort({ cpuMs: 5_000, wallMs: 60_000, memoryMb: 192 }, () => import('../diff/line-diff.ts')),
  chat: sort({ cpuMs: 5_000, wallMs: 60_000, memoryMb: 192 }, () => import('../channels/split-work.ts')),
  mail: sort({ cpuMs: 5_000, wallMs: 60_000, memoryMb: 384 }, () => import('../channels/mail-work.ts')),
  pattern: sort({ cpuMs: 10_000, wallMs: 60_000, memoryMb: 192 }, () => import('../json/pattern-work.ts')),
  paths: sort({ cpuMs: 10_000, wallMs: 60_000, memoryMb: 256 }, () => import('../diff/paths-work.ts')),
  patch: sort({ cpuMs: 20_000, wallMs: 120_000, memoryMb: 768 }, () => import('../diff/patch-work.ts')),
  dataset: sort({ cpuMs: 10_000, wallMs: 60_000, memoryMb: 384 }, () => import('../evaluations/dataset-work.ts')),
  skill: sort({ cpuMs: 4_000, wallMs: 60_000, memoryMb: 256 }, () => import('../skills/work.ts')),
};

export type Sorts = typeof sorts;

function sort<Job, Result>(limits: WorkLimits, load: Sort<Job, Result>['load']): Sort<Job, Result> {
  return { limits, load };
}
