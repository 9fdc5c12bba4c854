import type { RightHolder } from '../../db/streams/access.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';

/** Something that lasts as long as a caller's right. */
export interface Held {
  readonly holder: RightHolder;
  /** Called with the failure by which the right was lost. */
  close(failure: Failure): void;
}
