import { createHash } from 'node:crypto';

/** Makes keys of parts: readable, at most 120 characters, unique in their file, equal for an unchanged place. */
export class KeyMaker {
  readonly #used = new Map<string, number>();

  /** @param path headings, sheet or the like, outermost first; empty: the whole file. */
  keyOf(...path: readonly string[]): string {
    const slug = path.map(slugOf).filter(Boolean).join('/') || 'document';
    const stem = slug.length <= 100 ? slug : `${slug.slice(0, 80)}-${createHash('sha256').update(slug).digest('hex').slice(0, 16)}`;
    const count = (this.#used.get(stem) ?? 0) + 1;
    this.#used.set(stem, count);
    return count === 1 ? stem : `${stem}~${count}`;
  }
}

function slugOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '');
}
