import { nameOf } from '../text/clean.ts';
import { htmlToMarkdown, type HtmlText } from './html-markdown.ts';
import { suspectHidden } from '../text/injection.ts';
import type { FileParser, ParsedPart, ParseInput } from '../parsed.ts';
import { readBodyText } from '../../egress/body-text.ts';
import { sniffUtf16 } from '../text/text-bytes.ts';
import { cutSections, firstHeading } from '../text/sections.ts';
import { readFile } from 'node:fs/promises';
import { readWholeText } from '../text/read-text.ts';

const headBytes = 64 * 1024;

/**
 * A page: its main content as sections. Its character set is the one that a browser would use (BOM, `<meta charset>`), otherwise it is detected as for text.
 */
export const parseHtml: FileParser = async function* (input) {
  const bytes = await readFile(input.path);
  // Browsers do not recognize UTF-16 without its byte order mark.
  const isBare = sniffUtf16(bytes.subarray(0, headBytes))?.hasMark === false;
  const text = (isBare ? null : readBodyText({ bytes, contentType: 'text/html' })) ?? (await readWholeText(input));
  yield* partsOfHtml(htmlToMarkdown(text, { isPage: true }), input);
};

/** Yields the parts of a document that was HTML. Hidden text is left out with a warning; instructions in it make the whole document suspect. */
export function* partsOfHtml(text: HtmlText, { filename, warn }: ParseInput): Generator<ParsedPart> {
  const { title, markdown } = text;
  const suspect = suspectHidden(text, warn);
  for (const part of cutSections(markdown, { title: title ?? firstHeading(markdown) ?? nameOf(filename) })) yield { ...part, suspect };
}
