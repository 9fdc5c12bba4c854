/** Decodes the bytes of a patch: UTF-8, and Latin-1 in lines that are not UTF-8, so that two different lines never become the same text. */
export function decodePatch(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return decodeLines(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeLines(bytes: Buffer): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const next = end === -1 ? bytes.length : end + 1;
    lines.push(decodeLine(bytes.subarray(at, next)));
    at = next;
  }
  return lines.join('');
}

function decodeLine(line: Buffer): string {
  try {
    return utf8.decode(line);
  } catch {
    return line.toString('latin1');
  }
}
