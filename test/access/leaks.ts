import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { isRoleAccess } from '../../api/http/credentials/scopes.ts';
import type { Sent } from './stage.ts';
import type { Actor } from './world/actors.ts';
import { canariesIn, uuidsIn } from './world/places.ts';
import type { AccessWorld } from './world/world.ts';

/** Looks at every byte that the API makes for somebody, for what is none of theirs (G5). */
export interface LeakWatch {
  /** Reads which ids belong to whom; again after rows were made. */
  learn(): Promise<void>;
  watch(sent: Sent, url: string): void;
  /** What of a text its reader must not see. */
  foreignIn(text: string, reader: Reader): string[];
  /** Of every reply so far. */
  readonly found: readonly { operation: string; fault: string }[];
}

/**
 * What a reader may see. `narrowed`: an operator in A on the operators' own operations, where the platform's rows are out of view; `guest`: a viewer
 * by grant on what more than a viewer reads.
 */
interface Reader {
  readonly sight: Actor['sight'] | 'narrowed' | 'guest';
}

type RowScope = 'a' | 'a1' | 'a2' | 'a3' | 'b' | 'platform' | 'idle';

/** Whose rows each kind of reader may see; of B's there is no difference between workspaces. */
const visible: Readonly<Record<Exclude<Reader['sight'], 'everything'>, readonly string[]>> = {
  nothing: [],
  home: ['a', 'a1', 'platform'],
  second: ['a', 'a2', 'platform'],
  granted: ['a', 'a1', 'platform'],
  guest: ['a', 'platform'],
  organization: ['a', 'a1', 'a2', 'a3', 'platform'],
  narrowed: ['a', 'a1', 'a2', 'a3'],
  foreign: ['b', 'b1', 'b2', 'b3', 'platform'],
};

export function createLeakWatch(world: AccessWorld): LeakWatch {
  let owners = new Map<string, RowScope>();
  const found: { operation: string; fault: string }[] = [];

  const foreignIn = (text: string, { sight }: Reader): string[] => {
    if (sight === 'everything') return [];
    const allowed = visible[sight];
    const marks = canariesIn(text).filter(({ place }) => !allowed.includes(place));
    const ids = uuidsIn(text).filter((id) => {
      const owner = owners.get(id);
      return owner !== undefined && !allowed.includes(owner);
    });
    return [...marks.map(({ mark }) => mark), ...ids.map((id) => `an id of ${owners.get(id)}`)];
  };

  return {
    found,
    foreignIn,
    async learn() {
      owners = await readOwners(world);
    },
    watch({ operation, actor, text, headers }, url) {
      const own = new Set(uuidsIn(url));
      const reader = readerOf(operation, actor);
      const seen = foreignIn(`${text} ${JSON.stringify(headers)}`, reader).filter((mark) => !own.has(mark));
      for (const mark of new Set(seen)) found.push({ operation: operation.operationId, fault: `shows ${actor.name} ${mark} at ${url}` });
    },
  };
}

/** As whom a reply is read. */
function readerOf(operation: RegisteredOperation, actor: Actor): Reader {
  // Who signs in on an operation for nobody is somebody of A1.
  if (operation.access === 'none' && actor.sight === 'nothing') return { sight: 'home' };
  // By grant a viewer: what more than a viewer reads shows nothing of the place.
  if (actor.sight === 'granted' && isRoleAccess(operation) && operation.access !== 'viewer') return { sight: 'guest' };
  if (actor.kind === 'operator' && actor.sight !== 'everything' && operation.access === 'operator') return { sight: 'narrowed' };
  return actor;
}

/** The place of each id that stands in a row of one place only. */
async function readOwners({ rows, a, b }: AccessWorld): Promise<Map<string, RowScope>> {
  const columns = await rows.query<{ table: string; column: string; has_workspace: boolean }>(`
    select c.table_name as table, c.column_name as column, exists (
        select from information_schema.columns w where w.table_schema = 'public' and w.table_name = c.table_name and w.column_name = 'workspace_id') as has_workspace
    from information_schema.columns c join information_schema.columns o on o.table_schema = 'public' and o.table_name = c.table_name and o.column_name = 'organization_id'
    where c.table_schema = 'public' and c.data_type = 'uuid' and c.table_name not in ('audit_entries', 'idempotency_keys', 'login_failures')`);
  const selects = columns.map(
    ({ table, column, has_workspace }) =>
      `select "${column}"::text as id, organization_id::text as organization, ${has_workspace ? 'workspace_id::text' : 'null'} as workspace from "${table}" where "${column}" is not null`,
  );
  const found = await rows.query<{ id: string; organization: string | null; workspace: string | null }>(selects.join(' union '));

  const owners = new Map<string, RowScope | null>();
  for (const { id, organization, workspace } of found) {
    const home = homeOf({ a, b, organization, workspace });
    owners.set(id, owners.has(id) ? nearest(owners.get(id) ?? null, home) : home);
  }
  for (const side of [a, b])
    for (const place of side.workspaces) owners.set(place.workspaceId, side.name === 'b' ? 'b' : homeNamed(place.name));
  owners.set(a.organization.organizationId, 'a');
  owners.set(b.organization.organizationId, 'b');
  return new Map([...owners].flatMap(([id, home]) => (home === null ? [] : [[id, home]])));
}

function homeOf({
  a,
  b,
  organization,
  workspace,
}: {
  a: AccessWorld['a'];
  b: AccessWorld['b'];
  organization: string | null;
  workspace: string | null;
}): RowScope | null {
  if (organization === b.organization.organizationId) return 'b';
  if (organization !== a.organization.organizationId) return null;
  const place = a.workspaces.find((candidate) => candidate.workspaceId === workspace);
  return place ? homeNamed(place.name) : workspace === null ? 'a' : null;
}

function homeNamed(name: string): RowScope {
  return name === 'a1' || name === 'a2' || name === 'a3' ? name : 'a';
}

/** An id that stands in rows of two places of one organization is everybody's there; one of two organizations nobody's. */
function nearest(left: RowScope | null, right: RowScope | null): RowScope | null {
  if (left === right) return left;
  if (left === null || right === null || left === 'b' || right === 'b') return null;
  return 'a';
}
