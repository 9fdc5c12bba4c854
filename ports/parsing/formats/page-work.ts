import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { extractText, getDocumentProxy } from 'unpdf';
import { mediaTypeOf, readBodyText } from '../../egress/body-text.ts';

export type PageFormat = 'markdown' | 'text' | 'raw';

/** The bytes of a page, and what its server declares about them. */
export interface PageJob {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly url: string;
  readonly format: PageFormat;
}

/** Text of a page and its title; null when the body is not text of any kind. */
export type PageText = { readonly title: string | null; readonly text: string } | null;

/** Converts the bytes of a page to text: HTML by its main content, PDF page by page, text as it is. Runs in a child of the pool. */
export async function work(job: PageJob): Promise<PageText> {
  const bytes = Buffer.from(job.body);
  const mediaType = mediaTypeOf(job.contentType);
  if (mediaType === 'application/pdf' || bytes.subarray(0, 5).toString('latin1') === '%PDF-') return pdfText(job.body);

  const text = readBodyText({ bytes, contentType: job.contentType });
  if (text === null) return null;
  const isHtml = mediaType.includes('html') || (mediaType === '' && /^\s*<(?:!doctype html|html)/i.test(text));
  if (!isHtml || job.format === 'raw') return { title: null, text };
  return htmlText(text, job);
}

async function pdfText(body: Uint8Array): Promise<PageText> {
  const document = await getDocumentProxy(new Uint8Array(body), { verbosity: 0 });
  const { text } = await extractText(document, { mergePages: true });
  return { title: null, text };
}

function htmlText(html: string, job: PageJob): PageText {
  const { document } = parseHTML(html);
  const title: string | null = document.querySelector('title')?.textContent?.trim() || null;
  const whole = document.querySelector('body')?.innerHTML ?? html;
  const wholeText = document.querySelector('body')?.textContent ?? '';
  const article = new Readability(document, { charThreshold: 200 }).parse(); // rewrites the document, so the whole was taken before
  if (job.format === 'text')
    return { title: article?.title || title, text: (article?.textContent ?? wholeText).replaceAll(/\n{3,}/g, '\n\n').trim() };

  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  turndown.remove(['script', 'style', 'noscript', 'iframe']);
  const { document: inner } = parseHTML(`<!doctype html><html><body>${article?.content ?? whole}</body></html>`);
  return { title: article?.title || title, text: turndown.turndown(inner.querySelector('body')).trim() };
}
