/** The content of a mail, before it becomes text and HTML. A line of code is on its own and can be copied. */
export interface Letter {
  readonly subject: string;
  readonly parts: readonly (string | { readonly code: string } | { readonly link: string })[];
}

/** Returns the letter as plain text; its lines are not wrapped, so that tokens stay intact. */
export function toText({ parts }: Letter): string {
  return parts
    .map((part) => (typeof part === 'string' ? paragraph(part) : 'code' in part ? indent(part.code) : `  ${part.link}`))
    .join('\n\n');
}

/** Returns the letter as HTML that loads nothing from elsewhere. */
export function toHtml({ subject, parts }: Letter): string {
  const body = parts.map((part) => {
    if (typeof part === 'string') return `<p>${escaped(paragraph(part))}</p>`;
    if ('code' in part) return `<pre style="white-space:pre-wrap;word-break:break-all">${escaped(part.code)}</pre>`;
    return `<p><a href="${escaped(part.link)}">${escaped(part.link)}</a></p>`;
  });
  const head = `<meta charset="utf-8"><title>${escaped(subject)}</title>`;

  return `<!doctype html><html lang="en"><head>${head}</head><body>\n${body.join('\n')}\n</body></html>`;
}

/** Replaces line breaks in a name, including Unicode's, so that it adds no lines to a mail. */
function paragraph(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
