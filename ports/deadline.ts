/** A timer that fires this late shows that this process was frozen, not that the other side was slow. */
const lateMs = 1_000;
const turnMs = 5_000;

/**
 * Calls `over` after `ms`, unless the returned function is called before. A timer of a process that was frozen fires before the process has read what has
 * arrived in the meantime: one that fires far too late waits a few seconds more for that.
 */
export function afterMs(ms: number, over: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (forMs: number): void => {
    const dueAt = performance.now() + forMs;
    timer = setTimeout(() => (isLate(dueAt) ? arm(Math.min(ms, turnMs)) : over()), forMs).unref();
  };

  arm(ms);
  return () => clearTimeout(timer);
}

/** Whether a timer that was due at this time (`performance.now()`) fires far too late. */
export function isLate(dueAt: number): boolean {
  return performance.now() - dueAt > lateMs;
}

/** Like `AbortSignal.timeout`, with the tolerance of `afterMs`. */
export function deadlineIn(ms: number): AbortSignal {
  const controller = new AbortController();
  afterMs(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
  return controller.signal;
}
