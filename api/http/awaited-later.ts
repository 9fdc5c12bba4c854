/** A rejection counts as handled until somebody awaits it. */
export function awaitedLater<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => undefined);
  return promise;
}
