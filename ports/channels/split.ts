import { fromMarkdown } from 'mdast-util-from-markdown';

/** The maximum length of a part, and the form in which it counts. */
export interface PartLimit {
  /** UTF-16 units. */
  readonly limit: number;
  /** Returns the part as it is sent. */
  readonly render: (markdown: string) => string;
}

/**
 * Splits Markdown into parts that a service accepts, at the ends of blocks where that is possible, otherwise of lines, otherwise of words. A fence that is
 * split is closed and opened again, and no surrogate pair is split. Each part fits both as Markdown and in the service's form, so that it also fits as plain
 * text. Nothing is left out.
 */
export function splitMarkdown(markdown: string, fit: PartLimit): string[] {
  const whole = markdown.trim();
  if (whole === '') return [];
  if (fits(whole, fit)) return [whole];

  const parts: string[] = [];
  let open = '';
  const add = (block: string, gap: string): void => {
    const joined = open === '' ? block : open + gap + block;
    if (fits(joined, fit)) {
      open = joined;
      return;
    }
    if (open !== '') parts.push(open);
    open = block;
  };
  for (const block of blocksOf(whole)) for (const [at, piece] of partsOf(block, fit).entries()) add(piece, at === 0 ? '\n\n' : '\n');
  if (open !== '') parts.push(open);
  return parts;
}

/** Does the same regardless of the text's Markdown. */
export function cutPlain(text: string, limit: number): string[] {
  return cutToFit(text, { limit, render: () => '' });
}

interface Block {
  readonly text: string;
  readonly isFenced: boolean;
}

function fits(markdown: string, { limit, render }: PartLimit): boolean {
  return markdown.length <= limit && render(markdown).length <= limit;
}

/** Returns the blocks of a document as they are written. */
function blocksOf(markdown: string): Block[] {
  return fromMarkdown(markdown).children.flatMap(({ type, position }) => {
    const text = markdown.slice(lineStart(markdown, position?.start.offset ?? 0), position?.end.offset);
    return text.trim() === '' ? [] : [{ text, isFenced: type === 'code' && /^ {0,3}(?:`{3,}|~{3,})/.test(text) }];
  });
}

/** Indented code begins with its indentation. */
function lineStart(markdown: string, offset: number): number {
  const start = markdown.lastIndexOf('\n', offset - 1) + 1;
  return markdown.slice(start, offset).trim() === '' ? start : offset;
}

function partsOf(block: Block, fit: PartLimit): string[] {
  if (fits(block.text, fit)) return [block.text];
  return block.isFenced ? fencedParts(block.text, fit) : cutToFit(block.text, fit);
}

/** Puts each part between its own fences. */
function fencedParts(text: string, fit: PartLimit): string[] {
  const lines = text.split('\n');
  const head = lines[0] ?? '```';
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(head)?.[1] ?? '```';
  const isClosed =
    lines.length > 1 && new RegExp(`^ {0,3}${fence[0] === '~' ? '~' : '`'}{${fence.length},}[ \\t]*$`).test(lines.at(-1) ?? '');
  const inner = lines.slice(1, isClosed ? -1 : undefined).join('\n');
  // A language name that is longer than a part would leave no room for code.
  const opening = head.length * 4 < fit.limit ? head : fence;
  const fenced = (code: string): string => `${opening}\n${code}\n${fence}`;
  return cutToFit(inner, { limit: fit.limit, render: (code) => longer(fenced(code), fit.render(fenced(code))) }).map(fenced);
}

function longer(left: string, right: string): string {
  return left.length >= right.length ? left : right;
}

/** Splits a text that is too long: after a line, otherwise after a word, otherwise anywhere except in a surrogate pair. */
function cutToFit(text: string, fit: PartLimit): string[] {
  const parts: string[] = [];
  let rest = text;
  while (!fits(rest, fit)) {
    const at = cutAt(rest, maxFitChars(rest, fit));
    parts.push(rest.slice(0, at).replace(/\n$/, ''));
    rest = rest.slice(at);
  }
  return [...parts, rest].filter((part) => part.trim() !== '');
}

/** Returns how many units from the start fit, at least one; what a form adds grows with the text nearly everywhere, so a binary search finds it. */
function maxFitChars(text: string, fit: PartLimit): number {
  let low = 1;
  let high = Math.min(text.length - 1, fit.limit);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(text.slice(0, middle), fit)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function cutAt(text: string, maxChars: number): number {
  const head = text.slice(0, maxChars);
  const line = head.lastIndexOf('\n') + 1;
  if (line > maxChars / 4) return line;
  const word = head.search(/\s\S*$/) + 1;
  if (word > maxChars / 4) return word;
  const unit = text.charCodeAt(maxChars - 1);
  // Between the halves of a pair: one unit earlier, or, for a pair at the very start, after it.
  return unit >= 0xd800 && unit <= 0xdbff ? (maxChars > 1 ? maxChars - 1 : 2) : maxChars;
}
