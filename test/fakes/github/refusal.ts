/** An answer of the host that refuses. */
export class Refusal extends Error {
  readonly status: number;
  readonly errors: readonly unknown[];

  constructor(status: number, message: string, errors: readonly unknown[] = []) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** What GitHub answers to whatever the caller may not know of. */
export function notFound(): Refusal {
  return new Refusal(404, 'Not Found');
}

export function invalid(message: string, errors: readonly unknown[] = []): Refusal {
  return new Refusal(422, message, errors);
}
