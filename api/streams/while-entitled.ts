import { lostAccess, type RightHolder } from '../../db/streams/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { holderOf } from './attach.ts';

type Shown = Partial<Pick<RightHolder, 'runId' | 'place'>>;

/**
 * Does what takes its time for as long as the caller has the right to its result, and looks once more before the result is shown. Ends within
 * seconds of the right's loss: 401 when the credential has ended or lacks a second factor, 403 or 404 when the sight of what is shown has.
 * The signal tells the work that nobody waits any more.
 */
export async function whileEntitled<R>(
  { caller, deps, signal }: Pick<Ctx, 'caller' | 'deps' | 'signal'>,
  shown: Shown,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const holder = holderOf(caller, shown, deps.db.clock.now());
  const { promise: lost, reject } = Promise.withResolvers<never>();
  const losing = new AbortController();
  const release = deps.hub.hold({
    holder,
    close(failure) {
      reject(failure);
      losing.abort();
    },
  });

  try {
    const result = await Promise.race([work(signal ? AbortSignal.any([signal, losing.signal]) : losing.signal), lost]);
    const [code] = (await lostAccess(deps.db, [holder])).values();
    if (code) throw fail(code);
    return result;
  } finally {
    release();
  }
}
