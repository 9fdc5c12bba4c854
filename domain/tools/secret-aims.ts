import type { RowScope } from '../../db/new-row-scope.ts';

type Config = Readonly<Record<string, unknown>>;

/** A config that comes into force; `before` is null where there was none. */
export interface AimChange {
  readonly before: Config | null;
  readonly after: Config;
}

/** Throws 403 unless whoever asks may aim the secrets that the configs name where they send them, for a row of this home. */
export type RefuseForeignAim = (home: RowScope, changes: readonly AimChange[]) => Promise<void>;
