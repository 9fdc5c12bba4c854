import type { KeyRing } from '../../db/key-ring.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { deleteToolSecretRow, putToolSecret } from '../../db/tools/tool-secrets.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import { escapePointer } from '../../workflows/contracts/tools/json-pointer.ts';

/** Values by the names that the tool requires, and the user who sets them. */
export interface PutToolSecrets {
  readonly values: Readonly<Record<string, string>>;
  readonly userId: string | null;
}

/** Sets values that only a locked tool uses; omitted names retain theirs. Throws 422 for a name that the tool does not require. */
export async function setToolSecrets(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  { tool, values, userId }: PutToolSecrets & { readonly tool: Tool },
): Promise<void> {
  const unknown = Object.keys(values).filter((name) => !tool.secretsRequired.includes(name));
  if (unknown.length > 0)
    throw fail('validation_failed', { detail: 'The tool does not require this secret.', errors: unknown.map(notRequired) });
  for (const [name, value] of Object.entries(values)) await putToolSecret(tx, keys, { tool, name, value, userId });
}

/** Deletes the own value of a locked tool under a name. Throws 404 when it has none. */
export async function deleteToolSecret(tx: TenantTransaction, tool: Tool, name: string): Promise<void> {
  if (!(await deleteToolSecretRow(tx, tool.id, name))) throw fail('not_found');
}

function notRequired(name: string): Violation {
  const message = 'is not among the secrets that the tool requires';
  return { in: 'body', pointer: `/values/${escapePointer(name)}`, name: null, rule: 'unknown_field', message };
}
