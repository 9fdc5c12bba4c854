import type pg from 'pg';
import { appGrants } from '../../../db/roles.ts';
import { definerFunctions } from '../../../db/definer-functions.ts';
import { designedRules, tableKinds, type Command, type TableKind } from '../table-kinds.ts';

const commands: readonly Command[] = ['select', 'insert', 'update', 'delete'];

/** Rules by table and command, in the spelling of the database. */
export type Designed = ReadonlyMap<string, { readonly using: string | null; readonly check: string | null }>;

/** G10: what the catalogue of the database says about tables, policies, roles and functions, against `tableKinds`. */
export async function catalogueFaults(admin: pg.ClientBase, designed: Designed): Promise<string[]> {
  return [
    ...(await tableFaults(admin)),
    ...(await viewFaults(admin)),
    ...(await policyFaults(admin, designed)),
    ...(await roleFaults(admin)),
    ...(await grantFaults(admin)),
    ...(await functionFaults(admin)),
  ];
}

async function tableFaults(admin: pg.ClientBase): Promise<string[]> {
  const { rows } = await admin.query<{ name: string; forced: boolean; owner: string }>(
    `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced, pg_get_userbyid(c.relowner) as owner
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'm') and c.relname <> 'schema_migrations' order by 1`,
  );
  const found = new Set(rows.map(({ name }) => name));
  return [
    ...rows
      .filter(({ name }) => !tableKinds[name])
      .map(({ name }) => `${name} is of no known kind: give it one in test/access/table-kinds.ts`),
    ...Object.keys(tableKinds)
      .filter((name) => !found.has(name))
      .map((name) => `${name} is not there`),
    ...rows.filter(({ forced }) => !forced).map(({ name }) => `${name} has no forced row-level security`),
    ...rows.filter(({ owner }) => owner !== 'longhaul_owner').map(({ name, owner }) => `${name} belongs to ${owner}`),
  ];
}

/** A view shows what the policies of its tables show whoever asks, never what its owner may see. */
async function viewFaults(admin: pg.ClientBase): Promise<string[]> {
  const { rows } = await admin.query<{ name: string; invoker: boolean; granted: boolean; publicly: boolean }>(
    `select c.relname as name, coalesce(c.reloptions::text[] @> array['security_invoker=true'], false) as invoker,
       has_table_privilege('longhaul_app', c.oid, 'insert, update, delete, truncate') as granted,
       exists (select from aclexplode(c.relacl) a where a.grantee = 0) as publicly
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' order by 1`,
  );
  return rows.flatMap(({ name, invoker, granted, publicly }) =>
    [
      !invoker && `${name} reads with the rights of its owner`,
      granted && `longhaul_app may write through ${name}`,
      publicly && `everybody has rights on ${name}`,
    ].filter((fault) => typeof fault === 'string'),
  );
}

interface Policy {
  readonly name: string;
  readonly command: string;
  readonly roles: readonly string[];
  readonly using: string | null;
  readonly check: string | null;
  readonly permissive: boolean;
}

/** Of the policies alone. */
export async function policyFaults(admin: pg.ClientBase, wanted: Designed): Promise<string[]> {
  const faults: string[] = [];
  const found = await policiesOf(admin, 'public');
  for (const table of Object.keys(tableKinds)) {
    const policies = found.get(table) ?? [];
    for (const command of commands) {
      const own = policies.filter((policy) => policy.roles.includes('longhaul_app') && [command, 'all'].includes(policy.command));
      const designed = wanted.get(`${table} ${command}`);
      const [only] = own;
      if (own.length !== 1 || !only || only.roles.length !== 1 || only.using !== designed?.using || only.check !== designed.check)
        faults.push(
          `${table}: the policies of longhaul_app for ${command} are not those of its kind: ${JSON.stringify(own)}, but ${JSON.stringify(designed)}`,
        );
    }
    faults.push(...otherPolicyFaults(table, policies));
  }
  return faults;
}

/** Sweeper and gate see everything and nobody else has a policy. */
function otherPolicyFaults(table: string, policies: readonly Policy[]): string[] {
  const isOpen = ({ using, check }: Policy) => (using ?? 'true') === 'true' && (check ?? 'true') === 'true';
  const sweeper = policies.filter(({ roles }) => roles.join() === 'longhaul_sweeper');
  const known = policies.filter(({ roles }) => ['longhaul_app', 'longhaul_sweeper', 'longhaul_gate'].includes(roles.join()));
  return [
    sweeper.length === 1 && sweeper.every((policy) => policy.command === 'all' && isOpen(policy))
      ? null
      : `${table}: longhaul_sweeper has not exactly one open policy`,
    known.length === policies.length ? null : `${table} has a policy for somebody else`,
    policies.every(({ permissive }) => permissive) ? null : `${table} has a restrictive policy`,
  ].filter((fault) => fault !== null);
}

/** The designed rules as PostgreSQL writes them: made on empty copies of the tables, in a schema that is gone at the end. */
export async function designedPolicies(admin: pg.ClientBase): Promise<Designed> {
  const { rows } = await admin.query<{ table: string; columns: string[] }>(
    `select table_name as table, array_agg(column_name::text) as columns from information_schema.columns where table_schema = 'public' group by 1`,
  );
  await admin.query('begin');
  await admin.query('create schema designed');
  for (const { table, columns } of rows) {
    const kind: TableKind | undefined = tableKinds[table];
    if (!kind) continue;
    await admin.query(`create table designed.${table} (like public.${table})`);
    for (const [command, rule] of Object.entries(designedRules(table, kind, new Set(columns)))) {
      const using = command === 'insert' ? '' : `using (${rule})`;
      const check = command === 'select' || command === 'delete' ? '' : `with check (${rule})`;
      await admin.query(`create policy designed_${command} on designed.${table} for ${command} to longhaul_app ${using} ${check}`);
    }
  }
  const found = await policiesOf(admin, 'designed');
  await admin.query('rollback');
  return new Map(
    [...found].flatMap(([table, policies]) =>
      policies.map(({ command, using, check }) => [`${table} ${command}`, { using, check }] as const),
    ),
  );
}

async function policiesOf(admin: pg.ClientBase, schema: string): Promise<Map<string, Policy[]>> {
  const { rows } = await admin.query<Policy & { table: string }>(
    `select tablename as table, policyname as name, lower(cmd) as command, roles::text[] as roles, qual as using, with_check as check, permissive = 'PERMISSIVE' as permissive
     from pg_policies where schemaname = $1`,
    [schema],
  );
  return Map.groupBy(rows, ({ table }) => table);
}

async function roleFaults(admin: pg.ClientBase): Promise<string[]> {
  const { rows } = await admin.query<{
    name: string;
    unsafe: boolean;
    login: boolean;
    owns: string[];
    memberOf: string[];
    creates: boolean;
  }>(
    `select rolname as name, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication as unsafe, rolcanlogin as login,
       array(select distinct c.relname::text from pg_class c where c.relowner = r.oid and c.relnamespace = 'public'::regnamespace) as owns,
       array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = r.oid order by 1) as "memberOf",
       has_schema_privilege(r.oid, 'public', 'create') as creates
     from pg_roles r where rolname like 'longhaul%'`,
  );
  const names = rows
    .map(({ name }) => name)
    .toSorted()
    .join();
  return [
    ...(names === 'longhaul_app,longhaul_gate,longhaul_owner,longhaul_sweeper' ? [] : [`the roles are ${names}`]),
    ...rows.flatMap(({ name, unsafe, login, owns, memberOf, creates }) => {
      const isOwner = name === 'longhaul_owner';
      return [
        unsafe && `${name} may pass policies or make roles`,
        login === (name === 'longhaul_gate') && `${name} ${login ? 'may' : 'may not'} log in`,
        !isOwner && owns.length > 0 && `${name} owns ${owns.join()}`,
        !isOwner && creates && `${name} may create in the schema`,
        memberOf.join() !== (isOwner ? 'longhaul_gate,longhaul_sweeper' : '') && `${name} is a member of ${memberOf.join()}`,
      ].filter((fault) => typeof fault === 'string');
    }),
  ];
}

/** A right on some columns is none on the table; beyond its DML the app has none. */
async function grantFaults(admin: pg.ClientBase): Promise<string[]> {
  const all = [...commands, 'truncate', 'references', 'trigger'];
  const { rows } = await admin.query<{ name: string; granted: string[]; publicly: boolean }>(
    `select t as name, array(select c from unnest($2::text[]) c where has_table_privilege('longhaul_app', t, c)) as granted,
       exists (select from information_schema.role_table_grants g where g.table_schema = 'public' and g.table_name = t and g.grantee = 'PUBLIC') as publicly
     from unnest($1::text[]) t`,
    [Object.keys(tableKinds), all],
  );
  return rows.flatMap(({ name, granted, publicly }) => {
    const wanted = (appGrants[name] ?? commands.join(', ')).replaceAll(/, (?:insert|update) \([^)]*\)/g, '').split(', ');
    const isAppend = tableKinds[name] === 'append' && (granted.includes('update') || granted.includes('delete'));
    return [
      granted.join() !== wanted.join() && `longhaul_app may ${granted.join()} on ${name}`,
      isAppend && `longhaul_app may rewrite ${name}`,
      publicly && `everybody has rights on ${name}`,
    ].filter((fault) => typeof fault === 'string');
  });
}

async function functionFaults(admin: pg.ClientBase): Promise<string[]> {
  const { rows } = await admin.query<{
    signature: string;
    owner: string;
    fixed: boolean;
    publicly: boolean;
    app: boolean;
    sweeper: boolean;
  }>(
    `select p.oid::regprocedure::text as signature, pg_get_userbyid(p.proowner) as owner, exists (select from unnest(p.proconfig) c where c like 'search_path=%') as fixed,
       exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0 and a.privilege_type = 'EXECUTE') as publicly,
       has_function_privilege('longhaul_app', p.oid, 'execute') as app, has_function_privilege('longhaul_sweeper', p.oid, 'execute') as sweeper
     from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef`,
  );
  const listed = await admin.query<{ signature: string }>('select f::regprocedure::text as signature from unnest($1::text[]) f', [
    definerFunctions,
  ]);
  const known = new Set(listed.rows.map(({ signature }) => signature));
  const found = new Set(rows.map(({ signature }) => signature));
  return [
    ...[...known].filter((signature) => !found.has(signature)).map((signature) => `${signature} is listed and no definer function`),
    ...rows.flatMap(({ signature, owner, fixed, publicly, app, sweeper }) =>
      [
        !known.has(signature) && `${signature} is in no list`,
        owner !== 'longhaul_gate' && `${signature} belongs to ${owner}`,
        !fixed && `${signature} has no fixed search_path`,
        (publicly || !app || sweeper) && `${signature} is executable by others than longhaul_app`,
      ].filter((fault) => typeof fault === 'string'),
    ),
  ];
}
