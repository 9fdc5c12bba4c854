/** A URL or address that the guard does not allow. The message names no address. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  /** Set when a redirect was refused: the server that sent it has seen the request. */
  mayHaveArrived = false;
}

/** The target could not be reached or did not answer as HTTP; the message names no address. */
export class EgressUnreachable extends Error {
  override readonly name: string = 'EgressUnreachable';
  /** A connection was made: the target, or a server that redirected to it, may have seen the request and acted on it. */
  mayHaveArrived: boolean;

  constructor(code: string, message = `the target did not answer (${code})`) {
    super(message);
    this.mayHaveArrived = !neverConnected.includes(code);
  }
}

/** The target has answered, with a body that does not match its Content-Encoding: damaged, truncated, or made to cost more than it holds. */
export class EgressUndecodable extends EgressUnreachable {
  override readonly name = 'EgressUndecodable';

  constructor(coding: string) {
    super('undecodable', `the answer can not be decoded (${coding})`);
  }
}

const neverConnected: readonly string[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
];
