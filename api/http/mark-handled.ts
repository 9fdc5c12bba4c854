/** A rejection counts as handled until somebody awaits it. */
export function markHandled<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => undefined);
  return promise;
}
