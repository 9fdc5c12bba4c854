/** A timer that rings so much too late tells that the process stood still, not that the other side did. */
const lateMs = 1_000;
const turnMs = 5_000;

/**
 * Calls `over` after `ms`, unless the function that it gives is called before. A timer of a process that stood still rings before it has read what
 * has come meanwhile: one that rings far too late gives that its turn first, a few seconds of it.
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

/** Whether a timer that was due at this time (`performance.now()`) rings far too late. */
export function isLate(dueAt: number): boolean {
  return performance.now() - dueAt > lateMs;
}

/** Like `AbortSignal.timeout`, with the patience of `afterMs`. */
export function deadlineIn(ms: number): AbortSignal {
  const controller = new AbortController();
  afterMs(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
  return controller.signal;
}
