/** With more than one control character per this many bytes, the bytes are not text. */
const controlShare = 20;
const minControls = 4;

/**
 * Detects UTF-16 by its byte order mark, or because zero bytes lie as in a text of mostly Latin characters: in every second byte, and in no others. Null:
 * another encoding.
 */
export function sniffUtf16(head: Uint8Array): { readonly charset: 'utf-16le' | 'utf-16be'; readonly hasMark: boolean } | null {
  if (head[0] === 0xff && head[1] === 0xfe) return { charset: 'utf-16le', hasMark: true };
  if (head[0] === 0xfe && head[1] === 0xff) return { charset: 'utf-16be', hasMark: true };
  const pairs = Math.floor(head.length / 2);
  if (pairs < 4) return null;
  const zeros = { even: 0, odd: 0 };
  for (let index = 0; index < pairs * 2; index++) if (head[index] === 0) zeros[index % 2 === 0 ? 'even' : 'odd'] += 1;
  if (zeros.odd > pairs * 0.4 && zeros.even < pairs * 0.02) return { charset: 'utf-16le', hasMark: false };
  return zeros.even > pairs * 0.4 && zeros.odd < pairs * 0.02 ? { charset: 'utf-16be', hasMark: false } : null;
}

/** Whether bytes may be text in any encoding: UTF-16, or few control characters. */
export function isTextSample(head: Uint8Array): boolean {
  if (sniffUtf16(head) !== null) return true;
  const controls = head.filter((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)).length;
  return controls <= minControls || controls * controlShare <= head.length;
}
