import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CodeJob } from './job.ts';
import { launchJailed, launchPlain, nodeProgram } from './launch.ts';

/** Memory that a child process of the interpreter uses in addition to its guest's. */
export const quickjsOwnMemoryMb = 160;

/** Files of the interpreter and the child's own text, read once per process. */
export interface QuickjsFiles {
  readonly script: string;
  /** The two frames that every child gets first: its modules, and the compiled interpreter. */
  readonly frames: Buffer;
}

export function readQuickjsFiles(): QuickjsFiles {
  const script = readFileSync(new URL('./quickjs-child.ts', import.meta.url), 'utf8');
  const facade = createRequire(createRequire(import.meta.url).resolve('quickjs-emscripten'));
  const core = facade.resolve('quickjs-emscripten-core');
  const variant = '@jitl/quickjs-wasmfile-release-sync';
  const text = (path: string) => readFileSync(path, 'utf8');
  const sources = {
    core: text(core),
    types: text(createRequire(core).resolve('@jitl/quickjs-ffi-types')),
    ffi: text(facade.resolve(`${variant}/ffi`)),
    emscripten: text(facade.resolve(`${variant}/emscripten-module`)),
  };
  const frames = Buffer.concat([frame(Buffer.from(JSON.stringify(sources))), frame(readFileSync(facade.resolve(`${variant}/wasm`)))]);
  return { script, frames };
}

/** Starts a child that loads the interpreter and waits for its one job. */
export function startQuickjs(files: QuickjsFiles, isJailed: boolean): ChildProcess {
  const flags = [
    '--permission',
    '--max-old-space-size=64',
    '--disable-warning=ExperimentalWarning',
    '--input-type=module-typescript',
    '--eval',
  ];
  const command = [nodeProgram, ...flags, files.script];
  const child = isJailed ? launchJailed(command, { cpuSeconds: 65, dataMb: 1_024, fileMb: 0, processes: 64 }) : launchPlain(command);
  child.stdin?.write(files.frames);
  return child;
}

export function sendJob(child: ChildProcess, job: CodeJob): void {
  child.stdin?.write(frame(Buffer.from(JSON.stringify(job))));
}

function frame(bytes: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  return Buffer.concat([head, bytes]);
}
