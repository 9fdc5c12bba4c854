import { parseArgs } from 'node:util';
import { ensureAccess, readAccess } from './access.ts';
import { auditVerify } from './audit.ts';
import { runDemo } from './demo.ts';
import { prepareDeployment } from './deployment.ts';
import { processEnvironment, stateDirOf, type CliEnv } from './env.ts';
import { keysRotate } from './keys.ts';
import { checkReachable } from './reach.ts';
import { retentionRun } from './retention.ts';
import { startServices } from './services/index.ts';
import { checkSettings } from './settings.ts';
import { SetupError } from './setup-error.ts';
import { rotateSigningKey } from './signing.ts';
import { readStateFile } from './state.ts';
import { up } from './up.ts';
import { resetMfaCommand } from './users.ts';

const usage = `longhaul: a multi-tenant agent platform behind one HTTP API

  longhaul up [--demo]   services, migration, first access, API and workers, until Ctrl-C;
                         --demo streams a first run when the deployment is new
  longhaul migrate       brings the database up to date and makes its roles
  longhaul bootstrap     makes the first operator, organization, owner, key and agent where missing
  longhaul demo          streams a run of the first agent of the running deployment
  longhaul users reset-mfa --email ADDRESS
                         takes the second factor of somebody who has lost it away, and ends every session
  longhaul keys rotate [--reencrypt | --signing]
                         wraps the data keys under the newest of LONGHAUL_KEKS; --reencrypt also renews them and
                         every value; --signing makes a new key that signs access tokens
  longhaul audit verify [--organization ID]
                         names what was changed, deleted or added in the sealed audit log; exit 1 on any
  longhaul retention run deletes audit entries and failed logins past the days of their organization

Settings come from the environment: DATABASE_URL, REDIS_URL and TEMPORAL_ADDRESS name services of your own,
LONGHAUL_STATE_DIR the folder for data and secrets (.longhaul). README.md has the rest.`;

const options = {
  demo: { type: 'boolean' },
  email: { type: 'string' },
  organization: { type: 'string' },
  reencrypt: { type: 'boolean' },
  signing: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const log = (line: string) => console.log(line);

try {
  await main(process.argv.slice(2), processEnvironment());
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main(args: readonly string[], env: CliEnv): Promise<void> {
  const { values, positionals } = parsed(args);
  const [command] = positionals;
  if (values.help || command === undefined) return log(usage);

  switch (command) {
    case 'up':
      return up({ env, isDemo: values.demo ?? false, log });
    case 'migrate':
      return withServices(env, () => Promise.resolve());
    case 'bootstrap':
      return firstAccess(env);
    case 'demo':
      return demo(env);
    case 'users':
      refuseOther(positionals, 'reset-mfa');
      return resetMfaCommand({ env, email: values.email, log });
    case 'keys':
      refuseOther(positionals, 'rotate');
      if (values.signing) return rotateSigningKey({ env, log });
      return exitBy(await keysRotate({ env, log, reencrypt: values.reencrypt ?? false }));
    case 'audit':
      refuseOther(positionals, 'verify');
      return exitBy(await auditVerify({ env, log, organization: values.organization }));
    case 'retention':
      refuseOther(positionals, 'run');
      return retentionRun({ env, log });
    default:
      throw new SetupError(`There is no command ${command}.\n\n${usage}`);
  }
}

function refuseOther([command, named]: readonly string[], known: string): void {
  if (named !== known) throw new SetupError(`longhaul ${command} knows ${known} alone.\n\n${usage}`);
}

function exitBy(isGood: boolean): void {
  if (!isGood) process.exitCode = 1;
}

async function firstAccess(env: CliEnv): Promise<void> {
  await withServices(env, async (services, deployment) => {
    const { isFirst } = await ensureAccess(services.state, deployment);
    log(isFirst ? `Made. Credentials: ${services.state.path('access.json')}` : 'Everything was there.');
  });
}

async function demo(env: CliEnv): Promise<void> {
  const access = readAccess(readStateFile(stateDirOf(env), 'access.json'));
  if (access === null) throw new SetupError('No deployment has been made here yet: run `npm start` first.');
  await runDemo(access, { question: env['LONGHAUL_DEMO_QUESTION'], log });
}

/** Starts what is missing of the services, migrates, does the work and stops what it started. */
async function withServices(
  env: CliEnv,
  work: (services: Awaited<ReturnType<typeof startServices>>, deployment: Awaited<ReturnType<typeof prepareDeployment>>) => Promise<void>,
): Promise<void> {
  checkSettings(env);
  await checkReachable(env, ['DATABASE_URL']);
  const services = await startServices({ stateDir: stateDirOf(env), env, log });
  try {
    await work(services, await prepareDeployment(services, env));
  } finally {
    await services.stop();
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    // Of Node's own: it names the option that is unknown or lacks its value.
    throw new SetupError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}
