import type { RowScope } from '../../db/new-row-scope.ts';

type Config = Readonly<Record<string, unknown>>;

/** A config that comes into force; `before` is null when there was none. */
export interface AimChange {
  readonly before: Config | null;
  readonly after: Config;
}

/** Throws 403 unless the caller may send the secrets that the configs name where the configs send them, for a row in this row scope. */
export type RefuseForeignAim = (rowScope: RowScope, changes: readonly AimChange[]) => Promise<void>;
