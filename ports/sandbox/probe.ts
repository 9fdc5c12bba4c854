import { hasJailParts, kill, launchJailed, nodeProgram } from './launch.ts';
import { usageOf } from './watch.ts';

const probeTimeoutMs = 10_000;
const processes = 40;

/**
 * Runs inside the jail: starts more processes than allowed, and checks what it can reach. Its one line of JSON is evaluated outside. The children stay until
 * the jail ends, so the count is of those alive together.
 */
const probeScript = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { env } = process;
const net = require('node:net');
const can = (work) => { try { work(); return true; } catch { return false; } };
const reach = () => new Promise((resolve) => {
  try {
    const socket = net.connect({ host: '127.0.0.1', port: 9 });
    socket.on('error', (error) => resolve(error.code)).on('connect', () => resolve('connected'));
  } catch (error) { resolve(error.code ?? 'thrown'); }
});
(async () => {
  let started = 0;
  for (let n = 0; n < ${processes * 2}; n += 1) {
    const child = spawn('/usr/bin/sleep', ['20'], { stdio: 'ignore' });
    await new Promise((resolve) => { child.on('error', resolve); child.on('spawn', () => { started += 1; resolve(); }); });
  }
  process.stdout.write(JSON.stringify({
    started,
    root: can(() => fs.writeFileSync('/x', 'x')),
    shm: can(() => fs.writeFileSync('/dev/shm/x', 'x')),
    tmp: can(() => fs.writeFileSync('/tmp/x', 'x')),
    etc: can(() => fs.readdirSync('/home')) || can(() => fs.readFileSync('/etc/passwd')),
    network: await reach(),
    descriptors: env.DESCRIPTORS.trim().split(' ').filter((fd) => Number(fd) > 6).length,
    variables: Object.keys(env).filter((name) => !['PATH', 'HOME', 'LANG', 'PWD', 'DESCRIPTORS'].includes(name)).length,
  }) + '\\n');
  setTimeout(() => process.exit(0), 5_000);
})();
`;

/** Lists the descriptors before Node opens its own. */
const listDescriptors = 'DESCRIPTORS=$(ls /proc/self/fd | tr "\\n" " "); export DESCRIPTORS; exec "$@"';

let probed: Promise<boolean> | null = null;

/** Whether a jail works on this machine, determined by running one, once per process. */
export function probeJail(): Promise<boolean> {
  probed ??= hasJailParts() ? runProbe().catch(() => false) : Promise.resolve(false);
  return probed;
}

async function runProbe(): Promise<boolean> {
  const command = ['/bin/sh', '-c', listDescriptors, 'probe', nodeProgram, '--eval', probeScript];
  const child = launchJailed(command, { cpuSeconds: 5, dataMb: 1_024, fileMb: 1, processes });
  const timer = setTimeout(() => kill(child), probeTimeoutMs);
  try {
    let told = '';
    for await (const part of child.stdout ?? []) {
      told += String(part);
      if (told.includes('\n')) break;
    }
    if (told === '') return false;
    const seen = usageOf(child.pid ?? 0);
    return holds(JSON.parse(told)) && seen.processes > 10 && seen.memoryMb > 1;
  } finally {
    clearTimeout(timer);
    kill(child);
  }
}

function holds(told: Readonly<Record<string, unknown>>): boolean {
  const started = Number(told['started']);
  const isBounded = started > 0 && started < processes;
  const isClosed = told['root'] === false && told['shm'] === false && told['etc'] === false && told['network'] !== 'connected';
  return isBounded && isClosed && told['tmp'] === true && told['descriptors'] === 0 && told['variables'] === 0;
}
