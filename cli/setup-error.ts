/** Something on this machine keeps Longhaul from starting; the message says what, and what to do. Printed without a stack. */
export class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SetupError';
  }
}
