/** An evaluator could not give a score; `code` says why. It makes its own score an error and touches nothing else. */
export class EvaluatorError extends Error {
  override readonly name = 'EvaluatorError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
