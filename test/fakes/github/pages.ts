/** The page of a list that a request asks for, as the host cuts it: 30 unless `per_page` says otherwise, 100 at most. */
export function pageOf<T>(items: readonly T[], query: URLSearchParams): T[] {
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const page = Math.max(1, Number(query.get('page') ?? 1));
  return items.slice((page - 1) * size, page * size);
}
