/** A foreign key that no entity declares. */
export interface TenantKey {
  readonly table: string;
  readonly columns: readonly string[];
  readonly references: string;
  readonly referenced: readonly string[];
  readonly onDelete?: 'cascade';
}

/** A key by one column. */
export function plain(table: string, column: string, references: string, referenced = 'id'): TenantKey {
  return { table, columns: [column], references, referenced: [referenced] };
}

/** A key by id and organization, so that no row hangs on another tenant's. */
export function composite(table: string, column: string, references: string): TenantKey {
  return { table, columns: [column, 'organization_id'], references, referenced: ['id', 'organization_id'] };
}
