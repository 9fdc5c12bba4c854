import type { Nodes, Parents } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { micromark } from 'micromark';

/** How a service writes the elements of Markdown. */
export interface TextForm {
  readonly escape: (text: string) => string;
  readonly strong: (inner: string) => string;
  readonly emphasis: (inner: string) => string;
  readonly code: (text: string) => string;
  readonly codeBlock: (text: string, language: string) => string;
  readonly link: (url: string, inner: string) => string;
  readonly quote: (inner: string) => string;
}

const escapedHtml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const quotedHtml = (text: string): string => escapedHtml(text).replaceAll('"', '&quot;');

/** Slack's mrkdwn (https://api.slack.com/reference/surfaces/formatting): three characters are escaped, so that no text becomes a mention. */
export const slackForm: TextForm = {
  escape: escapedHtml,
  strong: (inner) => wrapped(inner, '*'),
  emphasis: (inner) => wrapped(inner, '_'),
  code: (text) => `\`${escapedHtml(text.replaceAll('`', "'"))}\``,
  // A language would be the first line of the code in Slack.
  codeBlock: (text) => `\`\`\`\n${escapedHtml(text.replaceAll('```', "'''"))}\n\`\`\``,
  link: (url, inner) => `<${escapedHtml(url).replaceAll('|', '%7C')}|${inner.replaceAll('|', '¦')}>`,
  quote: (inner) => prefixed(inner, '&gt; '.replace('&gt;', '>')),
};

/** The HTML that Telegram accepts (https://core.telegram.org/bots/api#html-style). */
export const telegramForm: TextForm = {
  escape: escapedHtml,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  code: (text) => `<code>${escapedHtml(text)}</code>`,
  codeBlock: (text, language) =>
    language === ''
      ? `<pre>${escapedHtml(text)}</pre>`
      : `<pre><code class="language-${quotedHtml(language)}">${escapedHtml(text)}</code></pre>`,
  link: (url, inner) => `<a href="${quotedHtml(url)}">${inner}</a>`,
  quote: (inner) => `<blockquote>${inner}</blockquote>`,
};

/** Renders the HTML of a mail, in which raw HTML is text and an image is a link: reading it loads nothing from elsewhere. */
export function renderMailHtml(markdown: string): string {
  return micromark(markdown, { extensions: [{ disable: { null: ['labelStartImage'] } }] });
}

const safeUrl = /^(?:https?:|mailto:|tel:)/i;

/** Renders Markdown (CommonMark) in the form of a service. Elements without markup in that form stay as text. */
export function renderMarkdown(markdown: string, form: TextForm): string {
  return blocks(fromMarkdown(markdown), form).trim();
}

function blocks(parent: Parents, form: TextForm, gap = '\n\n'): string {
  return parent.children
    .map((child) => render(child, form))
    .filter((text) => text !== '')
    .join(gap);
}

function inline(parent: Parents, form: TextForm): string {
  return parent.children.map((child) => render(child, form)).join('');
}

function render(node: Nodes, form: TextForm): string {
  switch (node.type) {
    case 'text':
      return form.escape(node.value);
    case 'html':
      return form.escape(node.value);
    case 'strong':
      return form.strong(inline(node, form));
    case 'heading':
      return form.strong(inline(node, form));
    case 'emphasis':
      return form.emphasis(inline(node, form));
    case 'inlineCode':
      return form.code(node.value);
    case 'code':
      return form.codeBlock(node.value, /^[A-Za-z0-9_+#.-]{1,40}$/.exec(node.lang ?? '')?.[0] ?? '');
    case 'break':
      return '\n';
    case 'thematicBreak':
      return '———';
    case 'link':
      return linked(node.url, inline(node, form), form);
    case 'image':
      return linked(node.url, form.escape(node.alt || node.url), form);
    case 'blockquote':
      return form.quote(blocks(node, form));
    case 'list':
      return node.children
        .map((item, at) => indented(node.ordered ? `${(node.start ?? 1) + at}. ` : '• ', blocks(item, form, node.spread ? '\n\n' : '\n')))
        .join('\n');
    case 'definition':
      return '';
    default:
      return 'children' in node ? inline(node, form) : 'value' in node ? form.escape(String(node.value)) : '';
  }
}

function linked(url: string, inner: string, form: TextForm): string {
  return safeUrl.test(url) ? form.link(url, inner) : inner;
}

function indented(mark: string, text: string): string {
  return mark + text.replaceAll('\n', `\n${' '.repeat(mark.length)}`);
}

function prefixed(text: string, prefix: string): string {
  return text
    .split('\n')
    .map((line) => prefix + line)
    .join('\n');
}

/** Puts marks directly around words: Slack accepts none next to a space. */
function wrapped(inner: string, mark: string): string {
  return inner.trim() === '' ? inner : inner.replace(/^(\s*)([^]*?)(\s*)$/, `$1${mark}$2${mark}$3`);
}
