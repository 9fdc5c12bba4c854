/** Something on this machine keeps Longhaul from starting; the message says what, and what to do. Printed without a stack. */
export class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SetupError';
  }
}

/** Whether something thrown by Node carries this code (`ENOENT` …). Not by class: under Jest the classes of Node are others than ours. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
