import { readFile } from 'node:fs/promises';
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';
import { nameOf, titleOf } from '../text/clean.ts';
import { suspectHidden } from '../text/injection.ts';
import { ParseFailure, parseLimits, type FileParser, type PageStart, type ParsedPart } from '../parsed.ts';
import { cutParagraphs } from '../text/paragraphs.ts';

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;
type PdfPage = Awaited<ReturnType<PdfDocument['getPage']>>;
type TextItems = Awaited<ReturnType<PdfPage['getTextContent']>>['items'];

/** A PDF, page by page, split between pages. One without a text layer (a scan) fails: nothing here reads images. */
export const parsePdf: FileParser = async function* (input) {
  const pdf = await openPdf(await readFile(input.path));
  if (pdf.numPages > parseLimits.pages)
    throw new ParseFailure('payload_too_large', `The file has ${pdf.numPages} pages; at most ${parseLimits.pages} are read.`);
  const title = (await titleOfPdf(pdf)) ?? nameOf(input.filename);
  const empty: number[] = [];
  const unseen = { doubtfulChars: 0 };
  yield* cutPages(pagesOf(pdf, { empty, unseen }), { title, isShort: pdf.numPages === 1 });
  suspectHidden({ hidden: '', ...unseen }, input.warn);
  if (empty.length === pdf.numPages)
    throw new ParseFailure('no_text', 'The file has no text layer; it may be a scan. Run OCR on it first.');
  if (empty.length > 0)
    input.warn('pages_without_text', `${empty.length} of ${pdf.numPages} pages have no text: ${empty.slice(0, 30).join(', ')}.`);
};

async function openPdf(bytes: Buffer): Promise<PdfDocument> {
  try {
    return await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  } catch (error) {
    const { name = '', message = '' } = error instanceof Error ? error : {};
    if (name === 'PasswordException') throw new ParseFailure('encrypted', 'The file is password-protected.');
    throw new ParseFailure('malformed', `The file is damaged or truncated: ${message.slice(0, 200)}`);
  }
}

async function titleOfPdf(pdf: PdfDocument): Promise<string | null> {
  const { info } = await pdf.getMetadata().catch(() => ({ info: {} }));
  const title = 'Title' in info && typeof info.Title === 'string' ? titleOf(info.Title) : null;
  // Programs write these when the document has no title.
  return title && !/^(?:untitled|microsoft word - |.*\.(?:docx?|dvi|tex|indd|pdf)$)/i.test(title) ? title : null;
}

interface PageText {
  readonly page: number;
  readonly text: string;
}

interface Collected {
  /** Numbers of the pages without text. */
  readonly empty: number[];
  readonly unseen: { doubtfulChars: number };
}

async function* pagesOf(pdf: PdfDocument, { empty, unseen }: Collected): AsyncGenerator<PageText> {
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const { text, doubtfulChars } = await readPage(pdf, number);
    unseen.doubtfulChars += doubtfulChars;
    if (text === '') empty.push(number);
    else yield { page: number, text };
  }
}

/** Returns the text of a page; pdf.js omits text outside of it. */
async function readPage(pdf: PdfDocument, number: number) {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const doubtfulChars = number <= maxInspectedPages ? await unseenChars(page) : 0;
    page.cleanup();
    return { text: joinItems(items), doubtfulChars };
  } catch {
    return { text: '', doubtfulChars: 0 }; // a damaged page among intact ones
  }
}

/** Maximum pages whose drawing operations are inspected; that costs more than their text. */
const maxInspectedPages = 100;

/**
 * Counts characters that a page draws invisibly (text rendering mode 3 or 7: ISO 32000-1, 9.3.6) or in white, and that no reader sees unless they lie over
 * something, like the text that OCR puts over a scanned image, or white text on a filled area. Pages of that kind count none.
 */
async function unseenChars(page: PdfPage): Promise<number> {
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  const painting: readonly number[] = [OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject, OPS.shadingFill];
  let [mode, isWhite, chars] = [0, false, 0];
  for (const [at, operator] of fnArray.entries()) {
    const args: readonly unknown[] = Array.isArray(argsArray[at]) ? argsArray[at] : [];
    if (painting.includes(operator)) return 0;
    if (operator === OPS.constructPath && args.includes(OPS.fill)) return 0;
    if (operator === OPS.setTextRenderingMode) mode = Number(args[0]);
    if (operator === OPS.setFillRGBColor) isWhite = args[0] === '#ffffff';
    if (operator === OPS.showText && (isWhite || mode === 3 || mode === 7)) chars += glyphsOf(args[0]);
  }
  return chars;
}

function glyphsOf(shown: unknown): number {
  return Array.isArray(shown) ? shown.filter((glyph: unknown) => typeof glyph === 'object' && glyph !== null).length : 0;
}

/** Joins lines as pdf.js finds them; a gap of more than one and a half lines begins a paragraph. */
function joinItems(items: TextItems): string {
  let text = '';
  let lastY: number | null = null;
  for (const item of items) {
    if (!('str' in item)) continue;
    const y: unknown = item.transform[5];
    const height = item.height || 10;
    if (item.str.trim() !== '' && typeof y === 'number') {
      if (lastY !== null && lastY - y > height * 1.8 && text.endsWith('\n') && !text.endsWith('\n\n')) text += '\n';
      lastY = y;
    }
    text += item.str + (item.hasEOL ? '\n' : '');
  }
  return text
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

interface PdfOptions {
  readonly title: string | null;
  readonly isShort: boolean;
}

/** Yields parts of whole pages, at most 20,000 characters each; a longer page is split at paragraphs. */
async function* cutPages(pages: AsyncIterable<PageText>, { title, isShort }: PdfOptions): AsyncGenerator<ParsedPart> {
  let held: PageText[] = [];
  let chars = 0;
  for await (const page of pages) {
    if (chars + page.text.length > parseLimits.sectionChars && held.length > 0) {
      yield pagePart(held, title, isShort);
      held = [];
      chars = 0;
    }
    const cuts = page.text.length > parseLimits.sectionChars ? [...cutParagraphs(page.text)] : [];
    for (const [index, text] of cuts.entries())
      yield { ...pagePart([{ ...page, text }], title, isShort), key: `page-${page.page}~${index + 1}` };
    if (cuts.length > 0) continue;
    held.push(page);
    chars += page.text.length + 2;
  }
  if (held.length > 0) yield pagePart(held, title, isShort);
}

function pagePart(held: readonly PageText[], title: string | null, isShort: boolean): ParsedPart {
  const pages: PageStart[] = [];
  let content = '';
  let start = 0;
  for (const { page, text } of held) {
    const joined = content === '' ? text : `\n\n${text}`;
    pages.push({ page, start: start + (content === '' ? 0 : 2) });
    content += joined;
    start += codePoints(joined);
  }
  const first = held[0]?.page ?? 1;
  return { key: isShort ? 'document' : `page-${first}`, title, content, pages };
}

function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}
