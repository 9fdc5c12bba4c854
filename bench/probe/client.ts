import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { root } from '../env.ts';
import { revive, socketPath, type ProbeEvent } from './protocol.ts';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-bench-'));

process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Variables that put the probe into a process. */
export const probeVariables: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import ${pathToFileURL(join(root, 'bench/probe/probe.ts')).href}`,
  BENCH_PROBE_DIR: folder,
};

/** Processor time that a process has used since it started, in milliseconds, all threads. */
export async function cpuMs(pid: number): Promise<number> {
  const { user, system } = JSON.parse(await ask(pid, 'cpu')) as NodeJS.CpuUsage; // our own probe's answer
  return (user + system) / 1_000;
}

/** Bytes of a process that are in use after a collection: heap, buffers and what native code holds for it. */
export async function memoryBytes(pid: number): Promise<number> {
  const { heapUsed, external } = JSON.parse(await ask(pid, 'memory')) as NodeJS.MemoryUsage; // our own probe's answer
  return heapUsed + external;
}

/** What a process does during `work` and until `settleMs` after it. */
export async function record(pid: number, work: () => Promise<unknown>, settleMs = 0): Promise<ProbeEvent[]> {
  await ask(pid, 'record');
  await work();
  await delay(settleMs);
  return JSON.parse(await ask(pid, 'stop'), revive) as ProbeEvent[]; // our own probe's answer
}

/** The part of a recording that comes before the first answer. */
export function untilAnswer(events: readonly ProbeEvent[]): readonly ProbeEvent[] {
  const answered = events.findIndex((event) => event.kind === 'answer');
  return answered < 0 ? events : events.slice(0, answered);
}

function ask(pid: number, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(socketPath(folder, pid), () => socket.write(word));
    socket.setEncoding('utf8');
    socket.on('data', (part) => (answer += String(part)));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}
