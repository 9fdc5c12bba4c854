import pg from 'pg';
import { withAdmin } from './template.ts';
import { until } from './temporal.ts';

/** Where a statement is held: a table, what is done to its row, and for which rows. */
export interface Stop {
  readonly table: string;
  readonly event: 'insert' | 'update' | 'delete';
  readonly when?: string;
}

const lock = 471_100;

/** Statements of a deployment that wait until they are let go, so that whoever sends them can be killed right there. */
export async function holdStatements(adminUrl: string, { table, event, when }: Stop) {
  const client = new pg.Client({ connectionString: adminUrl });
  client.on('error', () => undefined); // the test may end the server
  await client.connect();
  await client.query(`create or replace function test_hold() returns trigger language plpgsql security definer as $$
    begin perform pg_advisory_xact_lock_shared(${lock}); return case when tg_op = 'DELETE' then old else new end; end $$`);
  await client.query(
    `create or replace trigger test_hold before ${event} on ${table} for each row ${when === undefined ? '' : `when (${when})`} execute function test_hold()`,
  );
  await client.query(`select pg_advisory_lock(${lock})`);
  return {
    /** Resolves when a statement waits. */
    reached: () =>
      until(async () => {
        const { rows: found } = await client.query(`select from pg_locks l join pg_database d on d.oid = l.database
            where l.locktype = 'advisory' and l.objid = ${lock} and not l.granted and d.datname = current_database()`);
        return found.length > 0;
      }),
    /** As a server does that goes down: every connection of the bulk worker ends. */
    async endConnections() {
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'longhaul-worker-bulk%'`,
      );
    },
    async letGo() {
      await client.end(); // the lock goes with its session
      await withAdmin(adminUrl, (admin) => admin.query(`drop trigger if exists test_hold on ${table}`));
    },
  };
}
