import { chooseFrom, findOperations, unknownNames } from './choice.ts';
import { openDocument, Unusable } from './document.ts';
import { readOperation } from './operation.ts';
import type { DocumentProblem, LeftOutOperation, OpenApiOperation, OpenApiReading, ReadOpenApi } from './reader.ts';

/** Limits of one revision. */
const maxOperations = 200;
const maxTotalBytes = 4 * 1024 * 1024;
const maxProblems = 50;
const maxReported = 200;

/** Reads a document; runs in a child of the pool. An operation that can't be kept does not affect the others: it is left out, with the reason. */
export function readOpenApi(
  { document: given, ...choice }: ReadOpenApi,
  limits: { readonly operations: number; readonly bytes: number } = { operations: maxOperations, bytes: maxTotalBytes },
): OpenApiReading {
  const document = attempt(() => openDocument(given));
  if ('problem' in document) return { operations: [], leftOut: [], leftOutCount: 0, problems: [document.problem], unknown: [] };
  const { found, unsent } = findOperations(document.value);
  const chosen = chooseFrom(found, choice);

  const problems: DocumentProblem[] = [];
  const leftOut: LeftOutOperation[] = [];
  for (const { name, problem } of chooseFrom(unsent, choice)) {
    problems.push(problem);
    leftOut.push({ name, reason: reasonOf(problem) });
  }
  const operations: OpenApiOperation[] = [];
  let bytes = 0;
  for (const one of chosen) {
    if (operations.length >= limits.operations) {
      leftOut.push({ name: one.name, reason: `is beyond the first ${limits.operations}` });
      continue;
    }
    const read = attempt(() => readOperation(document.value, one));
    if ('problem' in read) {
      problems.push(read.problem);
      leftOut.push({ name: one.name, reason: reasonOf(read.problem) });
      continue;
    }
    const size = Buffer.byteLength(JSON.stringify(read.value));
    if (bytes + size > limits.bytes) {
      leftOut.push({ name: one.name, reason: 'exceeds 4 MiB together with the earlier ones' });
      continue;
    }
    bytes += size;
    operations.push(read.value);
  }
  if (operations.length === 0 && problems.length === 0) problems.push(nothingChosen);
  return {
    operations,
    leftOut: leftOut.slice(0, maxReported),
    leftOutCount: leftOut.length,
    problems: operations.length > 0 ? [] : problems.slice(0, maxProblems),
    unknown: unknownNames([...found, ...unsent], choice),
  };
}

const nothingChosen: DocumentProblem = {
  pointer: '/paths',
  rule: 'minProperties',
  message: 'contains no operation, or none that was selected',
};

function reasonOf({ pointer, message }: DocumentProblem): string {
  return `cannot be sent: ${message}, at ${pointer}`.slice(0, 300).toWellFormed();
}

function attempt<T>(work: () => T): { readonly value: T } | { readonly problem: DocumentProblem } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof Unusable) return { problem: error.problem };
    // Unbounded nesting overflows the parser's stack.
    if (error instanceof RangeError) return { problem: { pointer: '', rule: 'too_large', message: 'the document is nested too deep' } };
    throw error;
  }
}
