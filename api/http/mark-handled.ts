/** Marks a rejection as handled until the promise is awaited. */
export function markHandled<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => undefined);
  return promise;
}
