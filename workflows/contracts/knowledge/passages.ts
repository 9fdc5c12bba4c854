/** The header of a passage from a knowledge base, for the model and for citations. */
export interface PassageHead {
  readonly kb_id: string;
  readonly base: string;
  readonly item_id: string;
  readonly chunk_id: string;
  readonly title: string | null;
  readonly page: number | null;
  readonly uri: string | null;
  readonly trust: string;
  readonly score: number;
}

/** A passage between two delimiter lines that no document can forge: their boundary is random. */
export interface Passage {
  readonly head: PassageHead;
  readonly text: string;
}

/** Writes passages as blocks that `readPassages` parses. `boundary` consists of letters, digits, `-` and `_` only. */
export function writePassages(passages: readonly Passage[], boundary: string): string {
  return passages
    .map(({ head, text }, at) => `<<<passage ${at + 1} ${boundary} ${JSON.stringify(head)}>>>\n${text}\n<<<end ${at + 1} ${boundary}>>>`)
    .join('\n\n');
}

/** Returns the passages of a result in order, or none when the text holds none. A block whose two delimiter lines do not agree is text. */
export function readPassages(result: string): Passage[] {
  const blocks = /^<<<passage (?<at>\d+) (?<boundary>[\w\-]+) (?<head>\{.*\})>>>\n(?<text>[\s\S]*?)\n<<<end \k<at> \k<boundary>>>>$/gmv;
  return [...result.matchAll(blocks)].flatMap(({ groups }) => {
    const head = headOf(groups?.['head'] ?? '');
    return head === null ? [] : [{ head, text: groups?.['text'] ?? '' }];
  });
}

function headOf(text: string): PassageHead | null {
  try {
    const head: unknown = JSON.parse(text);
    // Written by `writePassages`: no other author knows the boundary.
    return head !== null && typeof head === 'object' && 'chunk_id' in head ? (head as PassageHead) : null;
  } catch {
    return null;
  }
}
