/** The requested slice of a list. `after` is the position of the last row seen, each value as the database's own text. */
export interface PageRequest {
  readonly limit: number;
  readonly offset: number | null;
  readonly after: readonly string[] | null;
}

/** One page of rows. `next` is the position of the last row when more follow; `total` is exact in offset mode, else null. */
export interface Page<Row> {
  readonly items: Row[];
  readonly next: readonly string[] | null;
  readonly total: number | null;
}

/** Maps the rows of a page to views, with position and total unchanged. */
export function mapPage<Row, View>(page: Page<Row>, toView: (row: Row) => View): Page<View> {
  return { items: page.items.map(toView), next: page.next, total: page.total };
}

/** Ends a page before its rows exceed a size. At least one row stays, and the next page continues after the last row that stayed. */
export function endEarly<Row>(
  page: Page<Row>,
  { limit, sizeOf, positionOf }: { limit: number; sizeOf: (row: Row) => number; positionOf: (row: Row) => readonly string[] },
): Page<Row> {
  let size = 0;
  const end = page.items.findIndex((item, at) => (size += sizeOf(item)) > limit && at > 0);
  const last = end < 1 ? undefined : page.items[end - 1];
  if (last === undefined) return page;
  return { ...page, items: page.items.slice(0, end), next: page.total === null ? positionOf(last) : null };
}
