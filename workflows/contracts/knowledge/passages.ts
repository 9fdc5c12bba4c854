/** What stands before a passage of a knowledge base, for the model and for whoever cites it. */
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

/** A passage between two lines that no document can write: their boundary is random. */
export interface Passage {
  readonly head: PassageHead;
  readonly text: string;
}

/** Writes passages as blocks that `readPassages` takes apart. `boundary` has letters, digits, `-` and `_` alone. */
export function writePassages(passages: readonly Passage[], boundary: string): string {
  return passages
    .map(({ head, text }, at) => `<<<passage ${at + 1} ${boundary} ${JSON.stringify(head)}>>>\n${text}\n<<<end ${at + 1} ${boundary}>>>`)
    .join('\n\n');
}

/** The passages of a result, in their order; none in a text that holds none. A block whose two lines do not agree is text. */
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
    // Written by `writePassages`: no other hand knows the boundary.
    return head !== null && typeof head === 'object' && 'chunk_id' in head ? (head as PassageHead) : null;
  } catch {
    return null;
  }
}
