import mammoth from 'mammoth';
import { htmlToMarkdown } from './html-markdown.ts';
import { suspectHidden } from '../text/injection.ts';
import { ParseFailure, type FileParser } from '../parsed.ts';
import { partsOfHtml } from './parse-html.ts';
import { readXml } from './pptx-xml.ts';
import { openZip } from './zip.ts';

/** A Word document: its paragraphs, lists, tables and notes, via HTML. Images are not read, and linked files are not opened. */
export const parseDocx: FileParser = async function* (input) {
  const zip = await openZip(input.path); // checks the limits of a zip file before mammoth unpacks it
  const body = await zip.read('word/document.xml').finally(() => zip.close());
  suspectHidden({ hidden: '', doubtfulChars: body === null ? 0 : hiddenCharsOf(body) }, input.warn);
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const options = { convertImage, externalFileAccess: false, includeEmbeddedStyleMap: false };
  const { value } = await mammoth.convertToHtml({ path: input.path }, options).catch((error: unknown) => {
    throw new ParseFailure('malformed', `The document cannot be read: ${messageOf(error)}`);
  });
  yield* partsOfHtml(htmlToMarkdown(value, { isPage: false }), input);
};

/** Counts characters in runs that are hidden, white, or smaller than two points (ECMA-376 part 1, §17.3.2: `vanish`, `color`, `sz` in half points). */
function hiddenCharsOf(xml: Uint8Array): number {
  let chars = 0;
  let isHidden = false;
  let isText = false;
  readXml(xml, {
    open: (name, attributes) => {
      const value = attributes['w:val'] ?? '';
      if (name === 'r') isHidden = false;
      if (name === 'vanish') isHidden ||= !['0', 'false', 'off'].includes(value);
      if (name === 'color') isHidden ||= /^f{6}$/i.test(value);
      if (name === 'sz') isHidden ||= Number(value) < 4;
      isText = name === 't';
    },
    close: () => {
      isText = false;
    },
    text: (text) => {
      if (isText && isHidden) chars += text.length;
    },
  });
  return chars;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}
