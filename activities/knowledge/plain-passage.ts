/**
 * Turns everything in a passage that could be loaded or followed into plain text: images keep their description, links their text. What no reader sees,
 * comments and characters of Unicode's tag block, is removed. Each pattern stops at the next bracket of its kind, so that the time is linear in the length of
 * the text; remaining syntax, nested or truncated, is broken at the end, so that no reader of Markdown or HTML takes it for a link, an image or a tag.
 */
export function plainPassage(text: string): string {
  return text
    .replaceAll(/<!--[\s\S]*?(?:-->|$)/gv, '')
    .replaceAll(/[\u{E0020}-\u{E007F}]+/gv, '')
    .replaceAll(/!\[([^\[\]]*)\](?:\([^\(\)\n]*\)|\[[^\[\]]*\])/gv, (_, alt: string) => (alt === '' ? '(image)' : `(image: ${alt})`))
    .replaceAll(/\[([^\[\]]+)\]\([^\(\)\n]*\)/gv, '$1')
    .replaceAll(/\[([^\[\]]+)\]\[[^\[\]]*\]/gv, '$1')
    .replaceAll(/^[ \t]{0,3}\[[^\[\]]+\]:[ \t]*\S.*$/gmv, '')
    .replaceAll(/<(https?:[^\s<>]+)>/giv, '$1')
    .replaceAll(/<\/?[a-z][^<>]*>/giv, '')
    .replaceAll(/\](?=[\(\[:])/gv, '] ')
    .replaceAll(/<(?=[a-z\/!?])/giv, '< ');
}
