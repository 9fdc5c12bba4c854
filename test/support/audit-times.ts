import { sweep } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import type { TestDatabase } from './database.ts';

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Times in the audit log of a database that are not written as everywhere on the wire, each with the operation that wrote it. */
export async function oddAuditTimes({ db }: Pick<TestDatabase, 'db'>): Promise<string[]> {
  const found = await sweep(db, (em) =>
    rows<{ operation_id: string | null; changes: string }>(
      em,
      String.raw`select operation_id, changes::text as changes from audit_entries where changes::text ~ '"\d{4}-\d\d-\d\d[ T]\d\d:\d\d'`,
    ),
  );
  return found.flatMap(({ operation_id: operationId, changes }) =>
    [...changes.matchAll(/"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^"]*)"/g)].flatMap(([, time = '']) =>
      instant.test(time) ? [] : [`audit entry of ${operationId ?? 'no operation'}: ${time} is no time of the wire`],
    ),
  );
}
