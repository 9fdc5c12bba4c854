import { parseLimits } from '../parsed.ts';

/** Yields texts of at most 20,000 characters, split between paragraphs, otherwise between lines, otherwise anywhere except within a character. */
export function* cutParagraphs(text: string): Generator<string> {
  let held = '';
  for (const block of blocksOf(text)) {
    if (held.length + block.length > parseLimits.sectionChars && held.trim() !== '') {
      yield held.trim();
      held = '';
    }
    held += block;
  }
  if (held.trim() !== '') yield held.trim();
}

function* blocksOf(text: string): Generator<string> {
  for (const block of text.split(/(?<=\n[ \t]*\n)/)) {
    if (block.length <= parseLimits.sectionChars) yield block;
    else yield* cutLines(block);
  }
}

function* cutLines(block: string): Generator<string> {
  const lines = block.split(/(?<=\n)/);
  const [first = '', second = ''] = lines;
  const header = /^\s*\|?[\s:|-]*-[\s:|-]*$/.test(second.trim()) && first.includes('|') && first.length < 4_000 ? first + second : '';
  const max = parseLimits.sectionChars - header.length - 2;
  let held = '';
  let isFirst = true;
  const flush = () => {
    const whole = isFirst || header === '' ? held : header + held;
    isFirst = false;
    held = '';
    return `${whole.trimEnd()}\n\n`;
  };
  for (const line of lines.flatMap((line) => cutHard(line, max))) {
    if (held.length + line.length > max && held !== '') yield flush();
    held += line;
  }
  if (held !== '') yield flush();
}

function cutHard(line: string, max: number): string[] {
  const stretches: string[] = [];
  for (let at = 0; at < line.length;) {
    let end = Math.min(line.length, at + max);
    const isInPair = end < line.length && /[\uD800-\uDBFF]/.test(line.charAt(end - 1));
    if (isInPair) end -= 1;
    stretches.push(line.slice(at, end));
    at = end;
  }
  return stretches;
}
