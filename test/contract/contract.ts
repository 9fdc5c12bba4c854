import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One line of the contract's list of operations. */
export interface ContractOperation {
  readonly area: string;
  readonly method: string;
  readonly path: string;
  readonly operation_id: string;
  readonly access: string;
  readonly success: string;
  readonly returns: string;
  readonly idempotency_key: string;
  readonly etag: string;
  readonly audit_action: string;
}

/** The rows of a copy of the contract's tables, by the names of their first line. */
export function contractTable(name: 'operations.tsv' | 'errors.tsv'): Record<string, string>[] {
  const [head = [], ...lines] = readFileSync(join(import.meta.dirname, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  return lines.map((cells) => Object.fromEntries(head.map((column, index) => [column, cells[index] ?? ''])));
}

export function contractOperations(): ContractOperation[] {
  // The first line of the file names exactly these columns.
  return contractTable('operations.tsv') as unknown as ContractOperation[];
}
