import { lostAccess, type RightHolder } from '../../db/streams/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { holderOf } from './attach.ts';

type Shown = Partial<Pick<RightHolder, 'runId' | 'place'>>;

/**
 * Does slow work as long as the caller has the right to its result, and checks that right once more before it returns the result. If the right is lost, it
 * throws within seconds: 401 if the credential has ended or lacks a second factor, 403 or 404 if the caller may no longer see the result. The signal tells the
 * work that nobody waits for it any more.
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
