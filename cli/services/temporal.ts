import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { searchAttributeNames } from '../../temporal/search-attributes.ts';
import { choosePort } from './ports.ts';
import { createRestartable } from './restartable.ts';
import { type LocalService, plainEnv, type ServiceContext } from './service.ts';

const dynamicConfigFile = join(import.meta.dirname, '../../temporal/dynamic-config.yaml');

export const defaultNamespace = 'longhaul';

export interface TemporalAddress {
  readonly grpc: string;
  readonly http: string;
  readonly namespace: string;
}

/** The Temporal server of the CLI, with its store in `<state>/temporal`. */
export async function localTemporal(context: ServiceContext): Promise<LocalService<TemporalAddress>> {
  const { state, env, binaries, isEphemeral } = context;
  const port = await choosePort(state, 'temporal', env['LONGHAUL_TEMPORAL_PORT']);
  const httpPort = await choosePort(state, 'temporal-http', env['LONGHAUL_TEMPORAL_HTTP_PORT']);
  const metricsPort = await choosePort(state, 'temporal-metrics', env['LONGHAUL_TEMPORAL_METRICS_PORT']);
  const namespace = env['TEMPORAL_NAMESPACE'] || defaultNamespace;
  const address = { grpc: `127.0.0.1:${port}`, http: `127.0.0.1:${httpPort}`, namespace };
  const folder = state.path('temporal');
  if (isEphemeral) rmSync(folder, { recursive: true, force: true });

  const restartable = createRestartable(
    {
      name: 'temporal',
      command: {
        name: 'temporal',
        file: binaries.temporal,
        args: serverArgs({
          port,
          httpPort,
          metricsPort,
          namespace,
          isEphemeral,
        }),
        env: plainEnv(env),
        cwd: folder,
        logFile: state.path('logs', 'temporal.log'),
        deathSignal: 'SIGTERM',
      },
      async beforeStart() {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
      },
      isReady: () => isNamespaceReady(address),
      readyTimeoutMs: 60_000,
      stopSignal: 'SIGTERM',
      graceMs: 5_000,
    },
    context.onChange,
  );

  return { address, restartable };
}

interface ServerSettings {
  readonly port: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly namespace: string;
  readonly isEphemeral: boolean;
}

function serverArgs({ port, httpPort, metricsPort, namespace, isEphemeral }: ServerSettings): string[] {
  const network = ['--headless', '--ip', '127.0.0.1', '--port', port, '--http-port', httpPort, '--metrics-port', metricsPort].map(String);
  // A write-ahead log allows twice as many starts per second as the default journal (137/s to 66/s on two cores), and is as safe.
  const store = [
    // Only the file name, with its folder as working directory: the server uses the path as part of a URI, in which `?`, `#` and `%` have a meaning.
    '--db-filename',
    'temporal.db',
    '--sqlite-pragma',
    'journal_mode=wal',
    '--sqlite-pragma',
    `synchronous=${isEphemeral ? 'off' : 'full'}`,
  ];
  const attributes = searchAttributeNames.flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
  const values = Object.entries(readDynamicConfig()).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);

  return ['server', 'start-dev', ...network, ...store, '--namespace', namespace, '--log-level', 'warn', ...attributes, ...values];
}

/**
 * Returns the keys and values (JSON texts) of `temporal/dynamic-config.yaml`, which an external cluster reads as a file and the local
 * server takes as flags. Supports only the form used there, a key with one unconstrained value, and refuses any other.
 */
export function readDynamicConfig(): Record<string, string> {
  const lines = readFileSync(dynamicConfigFile, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  const pairs = lines.join('\n').matchAll(/^([A-Za-z][\w.]*):\n {2}- value: (.+)$/gm);
  const config = Object.fromEntries([...pairs].map(([, key, value]) => [key, value]));

  if (Object.keys(config).length * 2 !== lines.length) throw new Error(`${dynamicConfigFile} has a form that is not read here`);
  return config;
}

async function isNamespaceReady({ http, namespace }: TemporalAddress): Promise<boolean> {
  const response = await fetch(`http://${http}/api/v1/namespaces/${namespace}`, {
    signal: AbortSignal.timeout(2000),
  });
  await response.body?.cancel();
  return response.ok;
}
