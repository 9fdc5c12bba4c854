import { KeyMaker } from '../text/keys.ts';
import { nameOf } from '../text/clean.ts';
import { suspectHidden } from '../text/injection.ts';
import type { FileParser, ParsedPart, ParseInput } from '../parsed.ts';
import { readText } from '../text/read-text.ts';
import { cutSections, firstHeading } from '../text/sections.ts';

/** A Markdown parser needs a hundred times the memory of its text; longer files are read in windows, split before a heading or at an empty line. */
const windowChars = 512 * 1024;

/** Markdown and plain text: sections by heading. */
export const parseMarkdown: FileParser = (input) => parse(input, true);

/** Text in which `#` begins no heading: source code, configuration, logs. */
export const parsePlain: FileParser = (input) => parse(input, false);

async function* parse(input: ParseInput, hasHeadings: boolean): AsyncGenerator<ParsedPart> {
  const keys = new KeyMaker();
  let title: string | null = null;
  for await (const window of windowsOf(readText(input))) {
    const { text, hidden } = hasHeadings ? withoutComments(window) : { text: window, hidden: '' };
    const suspect = suspectHidden({ hidden }, input.warn);
    title ??= (hasHeadings ? firstHeading(text) : null) ?? nameOf(input.filename);
    for (const part of cutSections(text, { title, keys, hasHeadings })) yield { ...part, suspect };
  }
}

/**
 * Code, fenced or inline, or an HTML comment (CommonMark 0.31, 4.5, 6.1 and 6.6), which readers of Markdown do not see; one without an end extends to the last
 * line.
 */
const codeOrComment = /(?<=^|\n) {0,3}(`{3,}|~{3,})[\s\S]*?(?:\n {0,3}\1|$)|`[^`\n]+`|<!--[\s\S]*?(?:-->|$)/g;

function withoutComments(text: string): { readonly text: string; readonly hidden: string } {
  if (!text.includes('<!--')) return { text, hidden: '' };
  const hidden: string[] = [];
  const shown = text.replaceAll(codeOrComment, (match) => {
    if (!match.startsWith('<!--')) return match;
    hidden.push(match.replaceAll(/^<!--|-->$/g, '').trim());
    return '';
  });
  return { text: shown, hidden: hidden.filter(Boolean).join('\n') };
}

async function* windowsOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const text of chunks) {
    held += text;
    while (held.length > windowChars * 2) {
      const end = cutOf(held);
      yield normalised(held.slice(0, end));
      held = held.slice(end);
    }
  }
  if (held !== '') yield normalised(held);
}

function cutOf(text: string): number {
  for (const boundary of ['\n# ', '\n## ', '\n\n', '\n']) {
    const at = text.lastIndexOf(boundary, windowChars);
    if (at > windowChars / 2) return at + 1;
  }
  return /[\uD800-\uDBFF]/.test(text.charAt(windowChars - 1)) ? windowChars - 1 : windowChars;
}

function normalised(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}
