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

/** A page: its main content as sections. Its character set is what a browser would take (BOM, `<meta charset>`), else as for text. */
export const parseHtml: FileParser = async function* (input) {
  const bytes = await readFile(input.path);
  // Browsers do not know UTF-16 without its mark.
  const isBare = sniffUtf16(bytes.subarray(0, headBytes))?.hasMark === false;
  const text = (isBare ? null : readBodyText({ bytes, contentType: 'text/html' })) ?? (await readWholeText(input));
  yield* partsOfHtml(htmlToMarkdown(text, { isPage: true }), input);
};

/** The parts of a document that was HTML. Hidden text is left out with a warning; orders in it make all of the document suspect. */
export function* partsOfHtml(text: HtmlText, { filename, warn }: ParseInput): Generator<ParsedPart> {
  const { title, markdown } = text;
  const suspect = suspectHidden(text, warn);
  for (const part of cutSections(markdown, { title: title ?? firstHeading(markdown) ?? nameOf(filename) })) yield { ...part, suspect };
}
