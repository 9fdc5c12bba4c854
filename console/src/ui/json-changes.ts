/** One place where two values differ. */
export interface JsonChange {
  /** JSON pointer; empty for the whole. */
  readonly pointer: string;
  /** undefined: it is not there. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Where two JSON values differ, at the deepest places. Elements of lists are compared by their position. */
export function changesBetween(before: unknown, after: unknown, pointer = ''): JsonChange[] {
  if (Object.is(before, after)) return [];
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) return [{ pointer, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    changesBetween(before[name], after[name], `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
