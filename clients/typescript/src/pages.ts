import type { Pages } from './options.ts';

interface Page {
  readonly items: readonly unknown[];
  readonly next_cursor?: string | null;
  readonly total?: number | null;
}

/** Where a page is asked for. */
export interface Place {
  readonly cursor?: string;
  readonly offset?: number;
}

/** A list: its first page is on the way, further ones are asked for when the loop gets there. `ask` reads one page. */
export function pagesOf(ask: (place: Place) => Promise<Page>, start: Place): Pages<Page> {
  const first = ask(start);
  return Object.assign(first, { [Symbol.asyncIterator]: () => itemsFrom(first, { ask, start }) });
}

async function* itemsFrom(
  first: Promise<Page>,
  { ask, start }: { ask: (place: Place) => Promise<Page>; start: Place },
): AsyncGenerator<unknown, void> {
  const seen = new Set<string>(start.cursor === undefined ? [] : [start.cursor]);
  let offset = start.offset ?? 0;
  for (let page = await first; ;) {
    yield* page.items;
    offset += page.items.length;
    const next = placeBehind(page, offset);
    if (next === null) return;
    if (next.cursor !== undefined && seen.has(next.cursor)) throw new Error('the list names a cursor again: it would never end');
    if (next.cursor !== undefined) seen.add(next.cursor);
    page = await ask(next);
  }
}

/** Lists that count their rows go on by number, the others by cursor. */
function placeBehind({ items, next_cursor: cursor, total }: Page, offset: number): Place | null {
  if (typeof cursor === 'string') return { cursor };
  if (typeof total === 'number' && items.length > 0 && offset < total) return { offset };
  return null;
}
