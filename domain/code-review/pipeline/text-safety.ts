/**
 * A text of strangers as it enters a prompt: without what no reader sees (HTML comments, zero-width and bidirectional characters,
 * Unicode's tag block), without the alternatives of images, with shapes of tokens redacted. Lines stay lines.
 */
export function dataText(text: string): string {
  return redactTokens(visibleText(withoutComments(text)).replaceAll(imageAlternative, '![]$1'));
}

/** Code as it enters a prompt: as `dataText`, but it keeps its comments' lines, so that numbers of lines stay true. */
export function dataLine(line: string): string {
  if (!suspect.test(line)) return line;
  return redactTokens(visibleText(line.replaceAll(commentOnLine, '')).replaceAll(imageAlternative, '![]$1'));
}

/**
 * A text that a model wrote, as it may be posted: without HTML, images, mentions and invisible characters, with shapes of tokens redacted.
 * Code in back-ticks and fences keeps its words, but for what could be taken for one of our markers.
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

/** Code that a model suggests, as it stands in a fence; null where it holds what may not be posted. */
export function outputCode(code: string): string | null {
  const safe = visibleText(code);
  return safe !== code || redactTokens(code) !== code || /<!--\s*longhaul/iu.test(code) ? null : code;
}

/** Shapes of keys and tokens become `[redacted]`. Each pattern is linear in the text. */
export function redactTokens(text: string): string {
  return tokenShapes.reduce((rest, shape) => rest.replaceAll(shape, '[redacted]'), text);
}

function visibleText(text: string): string {
  return text.toWellFormed().replaceAll(invisible, '');
}

/** An HTML comment leaves its line feeds. */
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

/** Fenced blocks and spans of back-ticks, and what stands between them. A fence that nothing closes is prose. */
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

/** Zero-width, bidirectional and other format characters, Unicode's tags, fillers and variation selectors, and controls but for tab and line ends. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}[\p{Cc}--[\t\n\r]]]/gv;
/** What any of the patterns here could fit: most lines of code hold none of it. */
const suspect = /[^\t\u0020-\u007E]|<!--|!\[|-----BEGIN|gh[opsur]_|github_pat_|gl(?:pat|dt|rt)-|xox|AKIA|ASIA|AIza|sk[-_]|npm_|lh_|eyJ/u;
const imageAlternative = /!\[[^\[\]\n]{0,2000}\](\(|\[)/gv;
const image = /!\[([^\[\]\n]{0,2000})\](?:\([^\(\)\n]{0,2000}\)|\[[^\[\]\n]{0,200}\])/gv;
const commentOnLine = /<!--.*?(?:-->|$)/gu;
const codeSpan = /(?<!`)(`{3,})[\s\S]*?\1(?!`)|(?<!`)`[^`\n]+`(?!`)|(?<!`)``[^\n]+?``(?!`)/gu;
/** `@name` where GitHub takes it for a person or a team: not within a word. The at sign goes. */
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
