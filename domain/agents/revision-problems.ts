import { fail, type Violation } from '../../workflows/contracts/failure.ts';

/** A problem of a revision, and the stage at which it matters. Pointers lie within the document. */
export interface RevisionProblem {
  readonly severity: 'error' | 'warning';
  readonly stage: 'create' | 'activate' | 'run';
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
  readonly params?: Record<string, unknown>;
}

type Statement = Pick<RevisionProblem, 'rule' | 'message' | 'params'>;

/** The revision can't be stored. */
export function atCreate(pointer: string, { rule, message, params }: Statement): RevisionProblem {
  return { severity: 'error', stage: 'create', pointer, rule, message, ...(params ? { params } : {}) };
}

/** The revision can be stored but not activated. */
export function atActivation(pointer: string, { rule, message, params }: Statement): RevisionProblem {
  return { severity: 'error', stage: 'activate', pointer, rule, message, ...(params ? { params } : {}) };
}

/** A run would do without it, or fail. */
export function atRun(pointer: string, { rule, message, params }: Statement): RevisionProblem {
  return { severity: 'warning', stage: 'run', pointer, rule, message, ...(params ? { params } : {}) };
}

const maxReported = 50;

/** Throws 422 with all problems of stage create, their pointers under `prefix`, if there are any. */
export function refuseInvalid(problems: readonly RevisionProblem[], prefix: string): void {
  const errors = problems.filter((problem) => problem.stage === 'create' && problem.severity === 'error').slice(0, maxReported);
  if (errors.length === 0) return;
  throw fail('validation_failed', {
    detail: 'The revision is not valid.',
    errors: errors.map((problem): Violation => ({
      in: 'body',
      pointer: prefix + problem.pointer,
      name: null,
      rule: problem.rule,
      message: problem.message,
      ...(problem.params ? { params: problem.params } : {}),
    })),
  });
}

/** Throws 409 `revision_not_activatable` with the problems of stages create and activate, if there are any. */
export function refuseNotActivatable(problems: readonly RevisionProblem[]): void {
  const errors = problems.filter((problem) => problem.severity === 'error' && problem.stage !== 'run').slice(0, maxReported);
  if (errors.length === 0) return;
  throw fail('state_conflict', {
    reason: 'revision_not_activatable',
    detail: 'The revision cannot be activated.',
    context: { problems: errors },
  });
}
