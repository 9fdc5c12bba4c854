import { readdirSync, readFileSync } from 'node:fs';

/** The SQL files of a migration's folder, in the order of their names. */
export function sqlFiles(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
}

/**
 * Creates or replaces definer functions as longhaul_gate, who owns them, and lets longhaul_app alone execute them. The role may create
 * in the schema only for these statements.
 */
export function definerStatements(definitions: readonly string[], signatures: readonly string[]): string[] {
  return [
    'grant create on schema public to longhaul_gate',
    'set local role longhaul_gate',
    ...definitions,
    ...signatures.map((signature) => `revoke all on function ${signature} from public`),
    ...signatures.map((signature) => `grant execute on function ${signature} to longhaul_app`),
    'reset role',
    'revoke create on schema public from longhaul_gate',
  ];
}
