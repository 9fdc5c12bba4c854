import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { titleOf } from '../text/clean.ts';
import { headerOf, lineOf } from './table.ts';

/** The part of the DOM that we use; the program is typed without one. */
interface HtmlNode {
  readonly nodeName: string;
  readonly localName: string;
  readonly textContent: string | null;
  readonly innerHTML: string;
  readonly isConnected: boolean;
  readonly parentElement: HtmlNode | null;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): HtmlNode | null;
  querySelectorAll(selector: string): Iterable<HtmlNode>;
  remove(): void;
}

/** An HTML document as Markdown. */
export interface HtmlText {
  readonly title: string | null;
  readonly markdown: string;
  /** Text that a browser would not show; it is left out. */
  readonly hidden: string;
  /** Number of characters that a style sheet hides, or that have the colour of the page. They stay in the text, since pages show some of them on a click. */
  readonly doubtfulChars: number;
}

/** An article with a smaller share of its page's text is a wrong guess. */
const minArticleShare = 0.3;
const charThreshold = 200;

/**
 * Converts HTML to Markdown with its headings and tables. Scripts, styles, embedded pages and what a browser would not show are left out; nothing is loaded.
 * `isPage`: takes the main content without navigation and footers where it can be identified (Readability), otherwise the whole body.
 */
export function htmlToMarkdown(html: string, { isPage }: { readonly isPage: boolean }): HtmlText {
  const document = documentOf(/<html[\s>]/i.test(html) ? html : bodyOf(html));
  const title = titleOf(document.querySelector('title')?.textContent);
  const doubtful = doubtfulElements(document);
  const hidden = removeHidden(document);
  const doubtfulChars = doubtful.reduce((sum, element) => sum + (element.isConnected ? charsOf(element) : 0), 0);
  const whole = document.querySelector('body')?.innerHTML ?? '';
  const wholeChars = document.querySelector('body')?.textContent?.trim().length ?? 0;
  const article = isPage ? articleOf(document) : null;
  const isWhole = article === null || article.text.trim().length < wholeChars * minArticleShare;
  const inner = documentOf(bodyOf(isWhole ? whole : article.html));
  return { title: titleOf(article?.title) ?? title, markdown: toMarkdown(inner.querySelector('body')), hidden, doubtfulChars };
}

function documentOf(html: string): HtmlNode {
  return parseHTML(html).document;
}

function bodyOf(html: string): string {
  return `<!doctype html><html><body>${html}</body></html>`;
}

function articleOf(document: HtmlNode): { readonly title: string; readonly html: string; readonly text: string } | null {
  const article = new Readability(document, { charThreshold }).parse(); // rewrites the document, so the whole was taken before
  if (!article?.content) return null;
  return { title: article.title ?? '', html: article.content, text: article.textContent ?? '' };
}

const hiddenStyle =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$|!)|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|$|!)|(?:left|top|text-indent)\s*:\s*-\d{3,}|color\s*:\s*transparent|font-size\s*:\s*1px|max-height\s*:\s*0(?:px)?\s*(?:;|$)|clip-path\s*:\s*inset\(\s*(?:50|100)%)/i;
const whiteText = /(?:^|;)\s*color\s*:\s*(?:white|#fff(?:fff)?|rgb\(\s*255\s*,\s*255\s*,\s*255\s*\))\s*(?:!|;|$)/i;
const whiteFont = /^(?:white|#?fff(?:fff)?)$/i;
/** Maximum rules of style sheets that are checked. */
const maxRules = 500;

/** Returns elements that a style sheet of the page hides, or whose text is white where nothing sets another colour for the page; outermost ones only. */
function doubtfulElements(document: HtmlNode): HtmlNode[] {
  const found = new Set<HtmlNode>();
  for (const selector of hidingSelectors(document)) for (const element of selected(document, selector)) found.add(element);
  for (const element of document.querySelectorAll('[style], font[color]')) {
    const isWhite = whiteText.test(element.getAttribute('style') ?? '') || whiteFont.test(element.getAttribute('color') ?? '');
    if (isWhite && !hasBackground(element)) found.add(element);
  }
  return [...found].filter(
    (element) => !['body', 'html'].includes(element.localName) && !ancestorsOf(element).some((one) => found.has(one)),
  );
}

/** Returns the selectors of the rules that hide, except those inside rules for other media. */
function hidingSelectors(document: HtmlNode): string[] {
  const css = Array.from(document.querySelectorAll('style'), (style) => style.textContent ?? '').join('\n');
  const plain = css.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)/g, '').replaceAll(/@[^{};@]{0,400}\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '');
  const rules = plain.matchAll(/([^{}]{1,400})\{([^{}]*)\}/g);
  return [...rules].slice(0, maxRules).flatMap(([, selector = '', style = '']) => (hiddenStyle.test(style) ? [selector.trim()] : []));
}

function selected(document: HtmlNode, selector: string): Iterable<HtmlNode> {
  try {
    return document.querySelectorAll(selector);
  } catch {
    return []; // a selector that this DOM does not know
  }
}

function hasBackground(element: HtmlNode): boolean {
  return [element, ...ancestorsOf(element)].some(
    (one) => one.hasAttribute('bgcolor') || /background/i.test(one.getAttribute('style') ?? ''),
  );
}

function ancestorsOf(element: HtmlNode): HtmlNode[] {
  const ancestors: HtmlNode[] = [];
  for (let next = element.parentElement; next; next = next.parentElement) ancestors.push(next);
  return ancestors;
}

function charsOf(element: HtmlNode): number {
  return element.textContent?.trim().length ?? 0;
}

/** Removes what a browser would hide because of its own attributes, and returns its text; rules of style sheets are not applied. */
function removeHidden(document: HtmlNode): string {
  for (const element of document.querySelectorAll('script, style, noscript, iframe, object, embed, template, svg')) element.remove();
  const texts: string[] = [];
  for (const element of document.querySelectorAll('[hidden], [style], input[type="hidden"]')) {
    const isHidden = element.hasAttribute('hidden') || hiddenStyle.test(element.getAttribute('style') ?? '');
    if (!isHidden || element.localName === 'body' || element.localName === 'html') continue;
    const text = element.textContent?.trim() ?? '';
    if (text !== '') texts.push(text);
    element.remove();
  }
  return texts.join('\n');
}

function toMarkdown(body: HtmlNode | null): string {
  if (!body) return '';
  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  turndown.addRule('tables', { filter: 'table', replacement: (content: string, node: HtmlNode) => tableOf(node) ?? content });
  // An image is neither loaded nor passed on; its alternative text replaces it.
  turndown.addRule('images', { filter: 'img', replacement: (_: string, node: HtmlNode) => altOf(node) });
  // A link within the document leads nowhere from a passage of it.
  turndown.addRule('anchors', {
    filter: (node: HtmlNode) => node.nodeName === 'A' && (node.getAttribute('href') ?? '').startsWith('#'),
    replacement: (content: string) => (/^(?:[↑↩]|\uFE0E)*$/u.test(content) ? '' : content),
  });
  return turndown
    .turndown(body)
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

function altOf(image: HtmlNode): string {
  return image.getAttribute('alt')?.replaceAll(/\s+/g, ' ') ?? '';
}

/** A table with longer cells in its first row has no header. */
const maxNameChars = 200;

/** Returns a table of values in Markdown; null for one that lays out a page: with one column, or with long texts, tables or headings in it. */
function tableOf(table: HtmlNode): string | null {
  if (table.querySelector('table, h1, h2, h3, h4, h5, h6')) return null;
  const rows = Array.from(table.querySelectorAll('tr'), (row) =>
    Array.from(row.querySelectorAll('th, td')).flatMap((cell) => {
      const span = Math.min(Math.max(1, Number(cell.getAttribute('colspan') ?? 1) || 1), 50);
      return [(cell.textContent ?? '').replaceAll(/\s+/g, ' '), ...Array<string>(span - 1).fill('')];
    }),
  ).filter((row) => row.some((cell) => cell.trim() !== ''));
  const [first, ...rest] = rows;
  if (!first || first.some((cell) => cell.length > maxNameChars) || !rows.some((row) => row.length > 1)) return null;
  const caption = table.querySelector('caption')?.textContent?.trim();
  return `\n\n${caption ? `${caption}\n\n` : ''}${headerOf(first) || `${lineOf(first)}\n`}${rest.map(lineOf).join('\n')}\n\n`;
}
