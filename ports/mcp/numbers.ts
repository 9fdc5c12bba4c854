import { markInexact } from '../../workflows/contracts/tools/exact-json.ts';

/** Marks the numbers of a body that comes in parts. */
export interface NumberMarker {
  /** What may leave now, possibly nothing. */
  push(part: Buffer): Buffer;
  /** What still waited when the body ended. */
  end(): Buffer;
}

/** Lines of an event stream that carry JSON: others name an id, an address, a time to wait. */
const jsonLine = /^data:[ \t]*[\d"[\]{},-].*$/gm;
const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * Puts marks (`markInexact`) into the JSON of a body or of the events of a stream. It works by lines, since neither a number nor a text of JSON holds
 * a line end, and on Latin-1, which keeps every byte.
 */
export function createNumberMarker(isStream: boolean): NumberMarker {
  let waiting: Buffer[] = [];

  const marked = (bytes: Buffer): Buffer => {
    const text = bytes.toString('latin1');
    const exact = isStream ? text.replaceAll(jsonLine, (line) => markInexact(line, 'all')) : markInexact(text, 'all');
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
      return marked(lines);
    },
    end() {
      const rest = Buffer.concat(waiting);
      waiting = [];
      return marked(rest);
    },
  };
}
