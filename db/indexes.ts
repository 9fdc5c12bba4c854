/** An index as MikroORM takes it, written as SQL because MikroORM's own form supports neither `nulls not distinct` nor the order of nulls. */
export interface IndexDef {
  readonly name: string;
  readonly expression: string;
}

/** `index('runs', 'workspace', '(workspace_id, id desc)')` is named `runs_workspace_idx`. */
export function index(table: string, name: string, definition: string): IndexDef {
  return { name: `${table}_${name}_idx`, expression: `create index ${table}_${name}_idx on ${table} ${definition}` };
}

/** A unique index named `<table>_<name>_key`; `db/errors.ts` maps that name to `already_exists`. */
export function uniqueIndex(table: string, name: string, definition: string): IndexDef {
  return { name: `${table}_${name}_key`, expression: `create unique index ${table}_${name}_key on ${table} ${definition}` };
}

/** The indexes of every scoped or tenant table; with them the or-ed predicate of a list becomes index scans. */
export function tenantIndexes(table: string): IndexDef[] {
  return [index(table, 'organization', '(organization_id, id desc)')];
}

export function scopedIndexes(table: string): IndexDef[] {
  return [...tenantIndexes(table), index(table, 'platform', "(id desc) where scope = 'platform'")];
}

/** Makes a slug unique per scope among undeleted rows. */
export function slugIndexes(table: string): IndexDef[] {
  return [
    uniqueIndex(table, 'slug_workspace', "(workspace_id, slug) where scope = 'workspace' and deleted_at is null"),
    uniqueIndex(table, 'slug_organization', "(organization_id, slug) where scope = 'organization' and deleted_at is null"),
    uniqueIndex(table, 'slug_platform', "(slug) where scope = 'platform' and deleted_at is null"),
  ];
}

/** A platform row has neither tenant column, an organization row only the first, a workspace row both. */
export function rowScopeCheck(table: string) {
  return {
    name: `${table}_scope_columns`,
    expression:
      "(scope = 'platform' and organization_id is null and workspace_id is null)" +
      " or (scope = 'organization' and organization_id is not null and workspace_id is null)" +
      " or (scope = 'workspace' and organization_id is not null and workspace_id is not null)",
  };
}
