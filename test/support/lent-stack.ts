import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { refuseStrangeDatabase } from '../../db/tenancy/keys/deployment-fit.ts';
import { storageDirOf } from './api.ts';
import {
  openDeployment,
  processNames,
  withTenant,
  type Deployment,
  type ProcessName,
  type Stack,
  type StackOptions,
} from './deployment.ts';
import { withAdmin } from './template.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** They stay from one file to the next, unless that does without them; others end with their file. */
const keptProcesses: readonly ProcessName[] = ['api', 'worker-runs'];
const namedOptions = new Set(['processes', 'modelBaseUrl', 'egressPorts']);

/** What some files need and no other minds. */
const env = { MCP_OAUTH_REDIRECT_URI: 'https://app.example.com/mcp/callback', RATE_LIMITS: 'principal=100000/60,workspace=100000/60' };

interface Lent {
  readonly deployment: Deployment;
  /** The way to the model server of the file that runs now. */
  readonly models: TcpProxy;
}

/** That of all test files. */
const temporalAddress = process.env['TEMPORAL_ADDRESS'];
let lent: Promise<Lent> | null = null;

/** Whether a file can do with the plain deployment. Jest without workers would wait for it for ever, and some files bring services of their own. */
export function canBorrow(options: StackOptions): boolean {
  const isPlain = Boolean(options.modelBaseUrl) && Object.keys(options).every((name) => namedOptions.has(name));
  // Where both would have to be ended, a deployment of the file's own is started as fast.
  const keepsOne = keptProcesses.some((name) => options.processes.includes(name));
  return isPlain && keepsOne && process.send !== undefined && process.env['TEMPORAL_ADDRESS'] === temporalAddress;
}

/** The Jest worker's deployment with a new tenant, the named processes serving and no others. Its `stop` gives it back: what runs is ended. */
export async function borrowStack({ processes, modelBaseUrl = '', egressPorts = [] }: StackOptions): Promise<Stack> {
  const { deployment, models } = await (lent ??= makeLent());
  models.target = { host: '127.0.0.1', port: Number(new URL(modelBaseUrl).port) };
  const stack = await withTenant(deployment, egressPorts);
  await Promise.all(keptProcesses.filter((name) => !processes.includes(name)).map((name) => stack.kill(name)));
  await Promise.all(processes.map((name) => startUnlessServing(stack, name)));

  return {
    ...stack,
    async stop() {
      // A file may have left them frozen.
      await Promise.all(processes.map((name) => stack.kill(name, 'SIGCONT')));
      await Promise.all(processes.filter((name) => !keptProcesses.includes(name)).map((name) => stack.kill(name)));
      await freezeTenants(stack);
      await endRuns(stack);
      // Rows that no product writes would end the processes of a later file, which is not to blame.
      await refuseStrangeDatabase(stack.db, stack.keys);
      models.cut();
      models.mend();
    },
  };
}

async function makeLent(): Promise<Lent> {
  const models = await startTcpProxy({ host: '127.0.0.1', port: 0 });
  const deployment = await openDeployment({
    modelBaseUrl: `http://127.0.0.1:${models.port}/v1`,
    env,
    imports: [join(import.meta.dirname, 'ends-with-parent.mjs')],
  });
  // Before the runtime's own, which ends the worker at once. The database goes when the next tests begin, like those of killed ones.
  process.prependListener('exit', () => {
    for (const name of processNames) void deployment.kill(name);
    rmSync(storageDirOf(deployment.redisPrefix), { recursive: true, force: true });
  });
  return { deployment, models };
}

/** A file may have killed them. */
async function startUnlessServing(stack: Stack, name: ProcessName): Promise<void> {
  const answer = await fetch(`${stack.url(name)}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  if (answer?.status === 200) return;
  await stack.kill(name);
  await stack.start(name);
}

/**
 * The next file counts what its own models are asked: nothing of this one's tenants starts any more, neither by a schedule or a sender that goes on,
 * nor because the reconciler finds a run whose workflow is gone.
 */
async function freezeTenants({ adminUrl }: Stack): Promise<void> {
  const reason = 'its test has ended';
  await withAdmin(adminUrl, (admin) =>
    admin.query(`update organizations set status = 'suspended', suspended_at = now(), suspended_reason = $1 where status = 'active'`, [
      reason,
    ]),
  );
}

/** Nobody waits any more for what a tenant's runs come to. */
async function endRuns({ temporal, tenant }: Stack): Promise<void> {
  const query = `OrganizationId = '${tenant.organizationId}' and ExecutionStatus = 'Running'`;
  for await (const { workflowId, runId } of temporal.client.workflow.list({ query })) {
    const handle = temporal.client.workflow.getHandle(workflowId, runId);
    await handle.terminate('its test has ended').catch(() => undefined); // it may end by itself
  }
}
