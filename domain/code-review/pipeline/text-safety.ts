/**
 * An untrusted text as it enters a prompt: without what no reader sees (HTML comments, zero-width and bidirectional characters, Unicode's tag block), without
 * the alternative texts of images, with tokens redacted by their shape. Line breaks stay.
 */
export function dataText(text: string): string {
  return redactTokens(visibleText(withoutComments(text)).replaceAll(imageAlternative, '![]$1'));
}

/** Code as it enters a prompt: like `dataText`, but retains the lines of comments, so that line numbers stay correct. */
export function dataLine(line: string): string {
  if (!suspect.test(line)) return line;
  return redactTokens(visibleText(line.replaceAll(commentOnLine, '')).replaceAll(imageAlternative, '![]$1'));
}

/**
 * A model's text in the form in which it may be posted: without HTML, images, mentions and invisible characters, with tokens redacted by their shape. Code in
 * back-ticks and fences stays as it is, except for text that could be mistaken for one of our markers.
 */
export function outputText(text: string): string {
  const safe = redactTokens(visibleText(text));
  return splitCode(safe)
    .map(({ isCode, part }) => (isCode ? part.replaceAll('<!--', '<! --') : proseText(part)))
    .join('');
}

/** One line of such a text. */
export function outputLine(text: string): string {
  return outputText(text.replaceAll(/\s+/gu, ' ').trim());
}

/** Code that a model suggests, for use in a fence; null when it contains what may not be posted. */
export function outputCode(code: string): string | null {
  const safe = visibleText(code);
  return safe !== code || redactTokens(code) !== code || /<!--\s*longhaul/iu.test(code) ? null : code;
}

/** Replaces keys and tokens, by their shape, with `[redacted]`. Each pattern is linear in the text. */
export function redactTokens(text: string): string {
  return tokenShapes.reduce((rest, shape) => rest.replaceAll(shape, '[redacted]'), text);
}

function visibleText(text: string): string {
  return text.toWellFormed().replaceAll(invisible, '');
}

/** Removes HTML comments, but not their line feeds. */
function withoutComments(text: string): string {
  return text.replaceAll(/<!--[\s\S]*?(?:-->|$)/gu, (comment) => comment.replaceAll(/[^\n]/gu, ''));
}

function proseText(text: string): string {
  return withoutComments(text)
    .replaceAll(image, '$1')
    .replaceAll(/!(?=\[)/gu, '')
    .replaceAll(/<(?=[a-z/!?])/giu, '&lt;')
    .replaceAll(mention, '');
}

/** Splits a text into code (fenced blocks and back-tick spans) and what lies between. An unclosed fence is prose. */
function splitCode(text: string): { readonly isCode: boolean; readonly part: string }[] {
  const parts: { isCode: boolean; part: string }[] = [];
  let at = 0;
  for (const match of text.matchAll(codeSpan)) {
    parts.push({ isCode: false, part: text.slice(at, match.index) }, { isCode: true, part: match[0] });
    at = match.index + match[0].length;
  }
  parts.push({ isCode: false, part: text.slice(at) });
  return parts;
}

/** Zero-width, bidirectional and other format characters, Unicode's tags, fillers and variation selectors, and controls except tab and line ends. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}[\p{Cc}--[\t\n\r]]]/gv;
/** A quick test for anything that the patterns here could match: most lines of code contain none of it. */
const suspect = /[^\t\u0020-\u007E]|<!--|!\[|-----BEGIN|gh[opsur]_|github_pat_|gl(?:pat|dt|rt)-|xox|AKIA|ASIA|AIza|sk[-_]|npm_|lh_|eyJ/u;
const imageAlternative = /!\[[^\[\]\n]{0,2000}\](\(|\[)/gv;
const image = /!\[([^\[\]\n]{0,2000})\](?:\([^\(\)\n]{0,2000}\)|\[[^\[\]\n]{0,200}\])/gv;
const commentOnLine = /<!--.*?(?:-->|$)/gu;
const codeSpan = /(?<!`)(`{3,})[\s\S]*?\1(?!`)|(?<!`)`[^`\n]+`(?!`)|(?<!`)``[^\n]+?``(?!`)/gu;
/** `@name` where GitHub reads it as a person or a team: not within a word. The at sign is removed. */
const mention = /(?<!\w)@+(?=[a-z\d])/giu;

/** https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats, and the prefixes of other services' keys. */
const tokenShapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/gu,
  /\bgh[opsur]_\w{20,}/gu,
  /\bgithub_pat_\w{20,}/gu,
  /\bgl(?:pat|dt|rt)-[\w-]{16,}/gu,
  /\bxox[abeoprs]-[\w-]{10,}/gu,
  /\b(?:AKIA|ASIA)[A-Z\d]{16}\b/gu,
  /\bAIza[\w-]{30,}/gu,
  /\bsk-[\w-]{20,}/gu,
  /\bsk_live_\w{16,}/gu,
  /\bnpm_\w{30,}/gu,
  /\blh_[a-z]{2}_\w{20,}/gu,
  /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/gu,
];
