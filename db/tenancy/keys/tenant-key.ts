/** A foreign key that no entity declares. */
export interface TenantKey {
  readonly table: string;
  readonly columns: readonly string[];
  readonly references: string;
  readonly referenced: readonly string[];
  readonly onDelete?: 'cascade';
}

/** Returns a key on one column. */
export function plain(table: string, column: string, references: string, referenced = 'id'): TenantKey {
  return { table, columns: [column], references, referenced: [referenced] };
}

/** Returns a key on id and organization, so that no row refers to another tenant's. */
export function composite(table: string, column: string, references: string): TenantKey {
  return { table, columns: [column, 'organization_id'], references, referenced: ['id', 'organization_id'] };
}
