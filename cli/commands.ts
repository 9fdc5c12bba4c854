import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { packageVersion } from '../ports/config/package-version.ts';
import { ensureAccess, readAccess } from './access.ts';
import { auditVerify } from './audit.ts';
import { buildConsole } from './console.ts';
import { runDemo } from './demo.ts';
import { environmentLines, prepareDeployment, type Deployment } from './deployment.ts';
import { completed, stateDirOf, type CliEnv } from './env.ts';
import { evaluate } from './evaluate.ts';
import { fxImport } from './fx.ts';
import { keysRotate, rotateSigningKey } from './keys.ts';
import type { MigrationReport } from './migrate.ts';
import { onlyFile, pricesImport } from './prices.ts';
import { checkReachable } from './check-services.ts';
import { startServices, type Services, type StartOptions } from './services/index.ts';
import { isDeployed } from './services/roster.ts';
import { seed } from './seed/seed.ts';
import { checkSettings } from './settings.ts';
import { fileFault, SetupError } from './setup-error.ts';
import { readStateFile, StateBusyError } from './state.ts';
import { up } from './up.ts';
import { usageAdjust, usageRebuild } from './usage.ts';
import { resetMfaCommand } from './users.ts';
import { pino } from 'pino';
import { eraseByAge } from '../activities/maintenance/erase-by-age.ts';
import { withDeployment } from './attach.ts';

const usage = `longhaul: a multi-tenant agent platform behind one HTTP API

  longhaul up [--demo] [--watch]
                         services, migration, first access, API and workers, until Ctrl-C;
                         --demo streams a first run when the deployment is new;
                         --watch starts API and workers again whenever a source changes
  longhaul migrate       brings the database up to date and makes its roles, and says what it did; --reset-roles
                         gives roles that exist the passwords of this state folder or environment
  longhaul bootstrap     makes the first operator, organization, owner, key and agent where missing; --reset-access
                         gives owner, operator and key new secrets: the old ones end
  longhaul demo          streams a run of the first agent of the running deployment
  longhaul seed          makes two organizations to try things with in the running deployment, each part where missing:
                         people of each role, agents, runs that ended well and badly and one that waits
  longhaul evaluate --agent SLUG --dataset FILE --evaluators FILE --min-pass-rate P [--revision ID]
                    [--baseline EVALUATION] [--repetitions N] [--junit FILE]
                         evaluates an agent over HTTP, at LONGHAUL_URL with LONGHAUL_SERVICE_KEY, else at the running deployment;
                         exit 1 below P or worse than the baseline, 2 when it could not be judged; Ctrl-C cancels it
  longhaul console build builds the browser console of these sources, unless that is done; up does so by itself
  longhaul env           prints deployment.json of the state folder as NAME=value lines: the environment of all processes
  longhaul users reset-mfa --email ADDRESS
                         takes the second factor of somebody who has lost it away, and ends every session
  longhaul keys rotate [--reencrypt | --signing]
                         wraps the data keys under the newest of LONGHAUL_KEKS; --reencrypt also renews them and
                         every value; --signing makes a new key that signs access tokens
  longhaul audit verify [--organization ID]
                         names what was changed, deleted or added in the sealed audit log; exit 1 on any
  longhaul retention run deletes audit entries, failed logins, runs and deliveries past the days of their organization
  longhaul prices import [FILE] [--dry-run]
                         prices of a JSON or CSV file, or those that the catalogue has of the registry's models;
                         --dry-run says what it would change; exit 1 when a row was rejected
  longhaul fx import [FILE]
                         rates of a CSV of the European Central Bank or a file of your own; without one those that ship
  longhaul usage adjust --workspace ID --amount=-1.25 --key KEY [--run ID] [--at TIME] [--reason TEXT]
                         corrects the ledger by a record of its own, once a key
  longhaul usage rebuild makes the sums that usage is read from anew out of the ledger; may be stopped and run again
  longhaul --version     prints the version

Settings come from the environment: DATABASE_URL, REDIS_URL and TEMPORAL_ADDRESS name services of your own,
LONGHAUL_STATE_DIR the folder for data and secrets (.longhaul). README.md has the rest.`;

const seeHelp = 'longhaul --help lists the commands and their options.';

const options = {
  'agent': { type: 'string' },
  'amount': { type: 'string' },
  'at': { type: 'string' },
  'baseline': { type: 'string' },
  'dataset': { type: 'string' },
  'demo': { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'email': { type: 'string' },
  'evaluators': { type: 'string' },
  'junit': { type: 'string' },
  'key': { type: 'string' },
  'min-pass-rate': { type: 'string' },
  'organization': { type: 'string' },
  'reason': { type: 'string' },
  'reencrypt': { type: 'boolean' },
  'repetitions': { type: 'string' },
  'revision': { type: 'string' },
  'reset-roles': { type: 'boolean' },
  'reset-access': { type: 'boolean' },
  'run': { type: 'string' },
  'signing': { type: 'boolean' },
  'watch': { type: 'boolean' },
  'workspace': { type: 'string' },
  'help': { type: 'boolean', short: 'h' },
  'version': { type: 'boolean' },
} as const;

/** What a command works with. */
interface Terminal {
  readonly env: CliEnv;
  /** Prints the output of a command, one or more lines. */
  readonly log: (text: string) => void;
  /** Prints a problem that stops the command and that its user can fix. */
  readonly logFault: (text: string) => void;
}

/** Runs a command as typed after `longhaul`. Returns false (exit 1) if it found a fault or could not do its work; throws on a bug of ours. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<boolean> {
  try {
    return (await dispatch(args, { ...terminal, env: completed(terminal.env) })) ?? true;
  } catch (error) {
    const told = error instanceof SetupError ? error : fileFault(error, stateDirOf(terminal.env));
    if (told === null) throw error;
    terminal.logFault(told.message);
    return false;
  }
}

/** A command that returns nothing has succeeded. */
async function dispatch(args: readonly string[], { env, log, logFault }: Terminal): Promise<boolean | void> {
  const { values, positionals } = parsed(args);
  const [command] = positionals;
  if (values.version) return log(`longhaul ${packageVersion()}`);
  if (values.help || command === undefined) return log(usage);

  switch (command) {
    case 'up':
      return up({ env, isDemo: values.demo ?? false, isWatching: values.watch ?? false, log });
    case 'migrate':
      return withServices({ env, log, resetsRoles: values['reset-roles'] ?? false }, async (_services, { migration }) =>
        tellMigration(migration, log),
      );
    case 'bootstrap':
      return firstAccess({ env, log }, values['reset-access'] ?? false);
    case 'demo':
      return demo({ env, log });
    case 'seed':
      return seed({ env, log });
    case 'evaluate': {
      const code = await evaluate({ env, asked: values, log, logFault });
      if (code === 2) process.exitCode = code;
      return code === 0;
    }
    case 'console':
      refuseOther(positionals, 'build');
      return log(`Built: ${await buildConsole(stateDirOf(env))}`);
    case 'env':
      return environmentLines(stateDirOf(env)).forEach(log);
    case 'users':
      refuseOther(positionals, 'reset-mfa');
      return resetMfaCommand({ env, email: values.email, log });
    case 'keys':
      refuseOther(positionals, 'rotate');
      if (values.signing) return rotateSigningKey({ env, log });
      return keysRotate({ env, log, reencrypt: values.reencrypt ?? false });
    case 'audit':
      refuseOther(positionals, 'verify');
      return auditVerify({ env, log, organization: values.organization });
    case 'usage':
      if (positionals[1] === 'adjust') return usageAdjust({ env, log, asked: values });
      refuseOther(positionals, 'rebuild');
      return usageRebuild({ env, log });
    case 'retention':
      refuseOther(positionals, 'run');
      return retentionRun({ env, log });
    case 'prices':
      refuseOther(positionals, 'import');
      return pricesImport({ env, log, file: onlyFile(positionals), isDryRun: values['dry-run'] ?? false });
    case 'fx':
      refuseOther(positionals, 'import');
      return fxImport({ env, log, file: onlyFile(positionals) });
    default:
      throw new SetupError(`There is no command ${command}. ${seeHelp}`);
  }
}

function refuseOther([command, named]: readonly string[], known: string): void {
  if (named !== known) throw new SetupError(`longhaul ${command} only accepts ${known}. ${seeHelp}`);
}

type Outlet = Pick<Terminal, 'env' | 'log'>;

async function firstAccess({ env, log }: Outlet, resets: boolean): Promise<void> {
  await withServices({ env, log }, async (services, deployment) => {
    const { isFirst } = await ensureAccess(services.state, deployment, { resets });
    const where = services.state.path('access.json');
    if (isFirst) log(`Created. Credentials: ${where}`);
    else log(resets ? `New secrets for owner, operator and key: ${where}` : 'Everything already exists.');
  });
}

function tellMigration({ madeRoles, madeDatabase, applied }: MigrationReport, log: Terminal['log']): void {
  if (madeRoles.length > 0) log(`Roles created: ${madeRoles.join(', ')}.`);
  if (madeDatabase !== null) log(`Database created: ${madeDatabase}.`);
  log(applied.length > 0 ? `Migrations applied: ${applied.join(', ')}.` : 'No migrations are pending.');
}

async function demo({ env, log }: Outlet): Promise<void> {
  const access = readAccess(readStateFile(stateDirOf(env), 'access.json'));
  if (access === null) throw new SetupError('There is no deployment here yet. Run `npm start` first.');
  await runDemo(access, { question: env['LONGHAUL_DEMO_QUESTION'], internalUrl: env['API_INTERNAL_URL'], log });
}

/** Starts the services that are missing, migrates, does the work, and stops what it started. */
async function withServices(
  { env, log, resetsRoles = false }: Outlet & { readonly resetsRoles?: boolean },
  work: (services: Services, deployment: Deployment) => Promise<void>,
): Promise<void> {
  checkSettings(env);
  await checkReachable(env, ['DATABASE_URL']);
  const services = await startWhenFree({ stateDir: stateDirOf(env), env, log });
  try {
    await work(services, await prepareDeployment(services, env, { resetsRoles, log }));
  } finally {
    await services.stop();
  }
}

/** Waits up to a minute for another command that uses the folder; does not wait for a deployment, which runs until it is stopped. */
async function startWhenFree(start: StartOptions): Promise<Services> {
  for (const end = Date.now() + 60_000; ;) {
    try {
      return await startServices(start);
    } catch (error) {
      if (!(error instanceof StateBusyError) || isDeployed(start.stateDir) || Date.now() > end) throw error;
      await sleep(250);
    }
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    // Node's own error, which names the option that is unknown or lacks its value.
    throw new SetupError(`${error instanceof Error ? error.message : String(error)}\n${seeHelp}`);
  }
}

/** `longhaul retention run`: does now what the schedule `maint:retention` does each day. Can be stopped at any point and repeated. */
async function retentionRun({ env, log }: { readonly env: CliEnv; readonly log: (line: string) => void }): Promise<void> {
  await withDeployment({ env, log }, async ({ db, keys }) => {
    const done = await eraseByAge({ db, keys, log: pino({ level: 'silent' }), signal: new AbortController().signal });

    log(
      `${done.auditEntries} audit entries of ${done.auditSeals} seals in ${done.organizations} organizations and ${done.loginFailures} failed logins deleted.`,
    );
    log(`${done.runs} runs erased, ${done.notices} notices of alerts deleted.`);
  });
}
