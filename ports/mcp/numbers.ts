import { tagInexact } from '../../workflows/contracts/tools/exact-json.ts';

/** Tags the numbers of a body that arrives in parts. */
export interface NumberMarker {
  /** Returns what can be emitted now, possibly nothing. */
  push(part: Buffer): Buffer;
  /** Returns what was still held back when the body ended. */
  end(): Buffer;
}

/** Lines of an event stream that carry JSON: others hold an id, an event name or a retry time. */
const jsonLine = /^data:[ \t]*[\d"[\]{},-].*$/gm;
const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * Puts tags (`tagInexact`) into the JSON of a body or of the events of a stream. It works by lines, since neither a number nor a string of JSON contains a
 * line end, and on Latin-1, which preserves every byte.
 */
export function createNumberMarker(isStream: boolean): NumberMarker {
  let waiting: Buffer[] = [];

  const tagged = (bytes: Buffer): Buffer => {
    const text = bytes.toString('latin1');
    const exact = isStream ? text.replaceAll(jsonLine, (line) => tagInexact(line, 'all')) : tagInexact(text, 'all');
    return exact === text ? bytes : Buffer.from(exact, 'latin1');
  };
  return {
    push(part) {
      const end = Math.max(part.lastIndexOf(lineFeed), part.lastIndexOf(carriageReturn)) + 1;
      if (end === 0) {
        waiting.push(part);
        return Buffer.alloc(0);
      }
      const lines = Buffer.concat([...waiting, part.subarray(0, end)]);
      waiting = [part.subarray(end)];
      return tagged(lines);
    },
    end() {
      const rest = Buffer.concat(waiting);
      waiting = [];
      return tagged(rest);
    },
  };
}
