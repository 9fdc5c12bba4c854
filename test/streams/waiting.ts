export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves once the condition holds. */
export async function eventually(condition: () => boolean | Promise<boolean>, timeoutMs = 240_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('not in time');
    await sleep(20);
  }
}
