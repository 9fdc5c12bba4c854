import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What only some files may do, and why each may. A path that ends in `/` stands for all files below. */
interface SourceRule {
  readonly what: string;
  readonly pattern: RegExp;
  readonly allowed: Readonly<Record<string, string>>;
}

const sweeper = 'sweeps across tenants';

/** G11: ways around the tenant of a transaction. */
export const sourceRules: readonly SourceRule[] = [
  {
    what: 'runs SQL outside a named function of db/<area>',
    // `iso` alone only writes times.
    pattern: /import \{(?! iso \})[^}]*\} from '[./]*(?:db\/)?sql\.ts'/,
    allowed: {
      'db/': 'named functions that take the transaction or scope',
      'bench/': 'measures',
      'cli/': 'the operator of the deployment',
    },
  },
  {
    what: 'reaches for the connection past the transaction',
    pattern: /\.getConnection\(|\.getKysely\(|\.getKnex\(|CompiledQuery\.raw|\brunInAutocommit\(|\bnew pg\.(?:Client|Pool)\(/,
    allowed: {
      'db/sql.ts': 'the one way for statements, in the tenant’s transaction',
      'db/knowledge/search/build-vector-index.ts': 'builds and drops indexes as the owner of the tables; reads no row',
      'db/orm.ts': 'opens the pools; tells the migration and the roles at start',
      'db/transaction.ts': 'puts the settings of the tenant before each statement of a read',
      'db/postgres/pg-dialect.ts': 'the driver',
      'db/streams/append-connection.ts': 'a connection for append_frames alone, which repeats the tenant predicate',
      'db/streams/archive.ts': 'stream heads, archive pages and re-check of open streams, on the sweeper’s pool',
      'api/system/health.ts': '`select 1`',
      'cli/': 'migrates and probes as the administrator',
      'bench/': 'measures',
    },
  },
  {
    what: 'forks an entity manager of its own',
    pattern: /\.fork\(/,
    allowed: { 'db/transaction.ts': 'one fork a transaction, with the settings of its tenant', 'bench/': 'measures' },
  },
  { what: 'switches filters off', pattern: /filters:\s*false/, allowed: {} },
  {
    what: 'uses the sweeper’s pool',
    pattern: /\bsweep\(|\bsweep\b[^;]*from '|\.sweeper\b|sweeper-rows\.ts'/,
    allowed: {
      'db/transaction.ts': 'where it is opened',
      'db/orm.ts': 'opens the pools',
      'db/streams/': 'stream heads, archive pages, re-check of open streams',
      'domain/streams/upkeep.ts': 'compaction of archives',
      'domain/identity/factors/use-recorder.ts': 'last-used marks',
      'domain/identity/factors/login-failure-retention.ts': sweeper,
      'domain/runs/end/run-retention.ts': sweeper,
      'domain/attachments/attachments.ts': sweeper,
      'domain/alerts/upkeep.ts': sweeper,
      'domain/retention.ts': sweeper,
      'domain/billing/rebuild-usage.ts': sweeper,
      'domain/billing/upkeep.ts': sweeper,
      'domain/audit/': 'sealing, verification and retention',
      'domain/tenancy/rotate-keys.ts': 'wraps the data keys of all tenants anew',
      'db/tenancy/keys/deployment-fit.ts': 'data keys of the platform, which are of no tenant, at the start of a process',
      'temporal/dispatch.ts': 'outbox relay',
      'temporal/relay.ts': 'outbox relay',
      'temporal/reconciler.ts': 'reconciler',
      'temporal/restart.ts': 'reconciler: a run whose workflow was lost is known by its id alone',
      'workers/deployment-metrics.ts': 'counts over all tenants, without a tenant in any label',
      'activities/delivery/send-mail.ts': 'outbox relay: whose mail it is stands in the row',
      'activities/maintenance/': sweeper,
      'activities/attachments/attachment-activities.ts': 'the sweep of attachments that nothing holds any more',
      'activities/knowledge/lost-work.ts': 'which work on bases may have lost its workflow',
      'activities/knowledge/sweep-subjects.ts': 'which bases are about people who have gone',
      'activities/knowledge/vector-index-upkeep.ts': 'which bases lack an index, or have outlived theirs',
      'activities/code-review/host/redeliver.ts': 'which Apps may have deliveries that never came',
      'activities/code-review/review-upkeep.ts': 'which pull requests wait without a workflow, which events are old',
      'ports/git/mirrors.ts': 'a sweep of its own: folders on a worker’s disk',
      'activities/mcp/sync-activities.ts': 'which toolkits are due for a sync',
      'activities/triggers/trigger-upkeep.ts': 'which schedules are due for upkeep',
      'activities/operator/': 'purge of organizations and workspaces',
      'cli/': 'the operator of the deployment',
      'bench/': 'measures',
    },
  },
];

const folders = ['api', 'workflows', 'activities', 'workers', 'db', 'domain', 'ports', 'temporal', 'cli', 'bench'];

/** Our sources by their paths, without comments, migrations left out. */
export function readSources(root: string): ReadonlyMap<string, string> {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('/migrations'))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return new Map(files.map((file) => [relative(root, file), withoutComments(readFileSync(file, 'utf8'))]));
}

/** Files that do what they may not, and permissions that nobody uses any more. */
export function sourceFaults(sources: ReadonlyMap<string, string>): string[] {
  return sourceRules.flatMap(({ what, pattern, allowed }) => {
    const users = [...sources].filter(([, text]) => pattern.test(text)).map(([path]) => path);
    const isAllowed = (path: string) => Object.keys(allowed).some((prefix) => path.startsWith(prefix));
    const isUsed = (prefix: string) => prefix.endsWith('/') || users.includes(prefix);
    return [
      ...users.filter((path) => !isAllowed(path)).map((path) => `${path} ${what}`),
      ...Object.keys(allowed)
        .filter((prefix) => !isUsed(prefix))
        .map((prefix) => `${prefix} no longer ${what}: take it off the list`),
    ];
  });
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}
