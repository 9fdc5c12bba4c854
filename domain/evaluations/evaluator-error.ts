/** An evaluator could not compute a score; `code` says why. It makes only that evaluator's score an error. */
export class EvaluatorError extends Error {
  override readonly name = 'EvaluatorError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
