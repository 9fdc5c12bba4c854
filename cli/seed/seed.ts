import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readAccess } from '../access.ts';
import { stateDirOf, type CliEnv } from '../env.ts';
import { refuseForeignDatabase } from '../foreign-database.ts';
import { checkSettings } from '../settings.ts';
import { SetupError } from '../setup-error.ts';
import { readStateFile, writeStateFile } from '../state.ts';
import { signIn } from './client.ts';
import { makeOrganization } from './make.ts';
import { emailOf, organizations } from './plan.ts';

const file = 'seed.json';

/** The content of `seed.json`: one password for all users, and the service keys, which the API shows only once. */
interface Secrets {
  readonly password: string;
  readonly service_keys: Readonly<Record<string, string>>;
}

/**
 * `longhaul seed`: creates two organizations for experiments, through the API of the deployment that runs from the state folder. Existing rows
 * are left unchanged, except that a service key whose plaintext is lost is rotated. Throws SetupError without a deployment, if DATABASE_URL names
 * another database, or if its API refuses.
 */
export async function seed({ env, log }: { readonly env: CliEnv; readonly log: (line: string) => void }): Promise<void> {
  const stateDir = stateDirOf(env);
  const access = readAccess(readStateFile(stateDir, 'access.json'));
  if (access === null) throw new SetupError('There is no deployment here yet. Run `npm start` first.');
  checkSettings(env);
  refuseForeignDatabase(stateDir, env);
  const baseUrl = env['API_INTERNAL_URL'] || access.base_url;

  let secrets = readSecrets(stateDir);
  const keep = (changed: Secrets) => writeStateFile(stateDir, file, (secrets = changed));
  // Stored before use: if a seed is killed halfway, the next one uses the same secrets.
  keep(secrets);
  const secretsFile = join(stateDir, file);
  const operator = await signIn(baseUrl, {
    email: access.operator_email,
    password: access.operator_password,
    keptIn: join(stateDir, 'access.json'),
  });
  const waiting: string[] = [];
  const made = { yes: 0, no: 0 };
  for (const plan of organizations) {
    const runIds = await makeOrganization(
      {
        baseUrl,
        operator,
        password: secrets.password,
        secretsFile,
        keys: new Map(Object.entries(secrets.service_keys)),
        tell: (what, isMade) => {
          made[isMade ? 'yes' : 'no'] += 1;
          log(`${isMade ? 'made ' : 'there'}  ${what}`);
        },
        keepKey: (slug, plaintext) => keep({ ...secrets, service_keys: { ...secrets.service_keys, [slug]: plaintext } }),
      },
      plan,
    );
    waiting.push(...runIds);
  }
  log(`\n${made.yes} made, ${made.no} there already.\n`);
  describe(secrets, { baseUrl: access.base_url, waiting, secretsFile, log });
}

function readSecrets(stateDir: string): Secrets {
  const saved = readStateFile(stateDir, file);
  const field = (name: keyof Secrets): unknown => (typeof saved === 'object' && saved !== null ? Reflect.get(saved, name) : undefined);
  const [password, keys] = [field('password'), field('service_keys')];
  return {
    password: typeof password === 'string' ? password : randomBytes(24).toString('base64url'),
    service_keys: typeof keys === 'object' && keys !== null ? Object.fromEntries(Object.entries(keys).map(([k, v]) => [k, String(v)])) : {},
  };
}

interface Described {
  readonly baseUrl: string;
  /** Ids of runs that wait for an approval. */
  readonly waiting: readonly string[];
  readonly secretsFile: string;
  readonly log: (line: string) => void;
}

function describe({ password, service_keys: keys }: Secrets, { baseUrl, waiting, secretsFile, log }: Described): void {
  log(`Sign in with POST ${baseUrl}/auth/login; every user has the password ${password}\n`);
  for (const plan of organizations) {
    log(`  ${plan.name}`);
    for (const { role } of plan.people) log(`    ${role.padEnd(12)} ${emailOf(plan, role)}`);
    log(`    ${'service key'.padEnd(12)} ${keys[plan.slug] ?? ''}`);
  }
  if (waiting.length > 0) log('\nRuns that wait for an approval (GET lists the questions, POST answers them)');
  for (const id of waiting) log(`    ${baseUrl}/runs/${id}/approvals`);
  log(`\nThe password and the keys are also in ${secretsFile}.`);
}
