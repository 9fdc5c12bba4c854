import type { Stack } from '../../support/stack.ts';

/** How many rows a list has, by the API itself. `path` has a query already. */
export async function totalOf(stack: Stack, path: string): Promise<number> {
  const { body } = await stack.request('GET', `${path}&limit=1&offset=0`);
  return (body as { total: number }).total;
}
