import type { RightHolder } from '../../db/streams/access.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';

/** Something that continues by a caller's right, and ends with it. */
export interface Held {
  readonly holder: RightHolder;
  /** Called with what the right was lost by. */
  close(failure: Failure): void;
}
