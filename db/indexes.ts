/** An index as MikroORM takes it; written out, since its own form knows no `nulls not distinct` and no order of nulls. */
export interface IndexDef {
  readonly name: string;
  readonly expression: string;
}

/** `index('runs', 'workspace', '(workspace_id, id desc)')` is `runs_workspace_idx`. */
export function index(table: string, name: string, definition: string): IndexDef {
  return { name: `${table}_${name}_idx`, expression: `create index ${table}_${name}_idx on ${table} ${definition}` };
}

/** A unique index, `<table>_<name>_key`; the name is what `db/faults.ts` maps to `already_exists`. */
export function uniqueIndex(table: string, name: string, definition: string): IndexDef {
  return { name: `${table}_${name}_key`, expression: `create unique index ${table}_${name}_key on ${table} ${definition}` };
}

/** The indexes that every scoped or tenant table has, so that the or-ed predicate of a list becomes index scans. */
export function tenantIndexes(table: string): IndexDef[] {
  return [index(table, 'organization', '(organization_id, id desc)')];
}

export function scopedIndexes(table: string): IndexDef[] {
  return [...tenantIndexes(table), index(table, 'platform', "(id desc) where scope = 'platform'")];
}

/** A slug is unique per scope among the rows not deleted. */
export function slugIndexes(table: string): IndexDef[] {
  return [
    uniqueIndex(table, 'slug_workspace', "(workspace_id, slug) where scope = 'workspace' and deleted_at is null"),
    uniqueIndex(table, 'slug_organization', "(organization_id, slug) where scope = 'organization' and deleted_at is null"),
    uniqueIndex(table, 'slug_platform', "(slug) where scope = 'platform' and deleted_at is null"),
  ];
}

/** Platform has neither tenant column, organization the first, workspace both. */
export function scopeCheck(table: string) {
  return {
    name: `${table}_scope_columns`,
    expression:
      "(scope = 'platform' and organization_id is null and workspace_id is null)" +
      " or (scope = 'organization' and organization_id is not null and workspace_id is null)" +
      " or (scope = 'workspace' and organization_id is not null and workspace_id is not null)",
  };
}
