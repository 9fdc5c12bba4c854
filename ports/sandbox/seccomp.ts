import { endianness } from 'node:os';

/** Numbers of the system calls that code in a jail may not make, and of `socket`, per architecture. */
interface SystemCalls {
  readonly audit: number;
  readonly socket: number;
  readonly denied: readonly number[];
}

/** The same numbers on every architecture: io_uring_setup/enter/register, open_tree to fspick, pidfd_getfd, mount_setattr, memfd_secret. */
const everywhere = [425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 447];

/**
 * What is closed: memory that no process is charged for (memfd_create, System V and POSIX queues), other processes (ptrace, process_vm_*), namespaces and
 * mounts, kernel interfaces that have been used for escapes (bpf, perf, io_uring, keys, userfaultfd). In this order: memfd_create, shmget, msgget, semget,
 * mq_open, ptrace, process_vm_readv, process_vm_writev, unshare, setns, mount, pivot_root, open_by_handle_at, bpf, perf_event_open, add_key, request_key,
 * keyctl, userfaultfd, kexec_load.
 */
const systemCalls: Readonly<Record<string, SystemCalls>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    denied: [319, 29, 68, 64, 240, 101, 310, 311, 272, 308, 165, 155, 304, 321, 298, 248, 249, 250, 323, 246],
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    denied: [279, 194, 186, 190, 180, 117, 270, 271, 97, 268, 40, 41, 265, 280, 241, 217, 218, 219, 282, 104],
  },
};

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const give = 0x06;
const allow = 0x7fff0000;
const killProcess = 0x80000000;
const refuse = 0x00050000 | 1; // EPERM
const x32 = 0x40000000;
const unixFamily = 1;

/**
 * Returns a seccomp program (classic BPF, linux/filter.h) for bubblewrap: it refuses the calls above and every socket except local ones, since a network
 * namespace leaves families like AF_VSOCK open. Null: the architecture or byte order is unknown.
 */
export function seccompProgram(architecture: string): Buffer | null {
  const calls = systemCalls[architecture];
  if (!calls || endianness() !== 'LE') return null;

  const denied = [...calls.denied, ...everywhere];
  const lines: Line[] = [
    { code: loadWord, k: 4 },
    { code: jumpIfEqual, k: calls.audit, to: 'next', otherwise: 'kill' },
    { code: loadWord, k: 0 },
    { code: jumpIfAtLeast, k: x32, to: 'refuse', otherwise: 'next' },
    ...denied.map((number) => ({ code: jumpIfEqual, k: number, to: 'refuse', otherwise: 'next' }) as const),
    { code: jumpIfEqual, k: calls.socket, to: 'next', otherwise: 'allow' },
    { code: loadWord, k: 16 },
    { code: jumpIfEqual, k: unixFamily, to: 'allow', otherwise: 'refuse' },
  ];
  return assemble(lines);
}

type Target = 'next' | 'allow' | 'refuse' | 'kill';

interface Line {
  readonly code: number;
  readonly k: number;
  readonly to?: Target;
  readonly otherwise?: Target;
}

/** `struct sock_filter {u16 code; u8 jt; u8 jf; u32 k}`; the three ends follow the lines. */
function assemble(lines: readonly Line[]): Buffer {
  const ends = { allow: lines.length, refuse: lines.length + 1, kill: lines.length + 2 };
  const distance = (target: Target | undefined, at: number) => (target === undefined || target === 'next' ? 0 : ends[target] - at - 1);
  const program = Buffer.alloc((lines.length + 3) * 8);
  for (const [at, line] of lines.entries()) {
    program.writeUInt16LE(line.code, at * 8);
    program.writeUInt8(distance(line.to, at), at * 8 + 2);
    program.writeUInt8(distance(line.otherwise, at), at * 8 + 3);
    program.writeUInt32LE(line.k, at * 8 + 4);
  }
  for (const [offset, verdict] of [allow, refuse, killProcess].entries()) {
    program.writeUInt16LE(give, (lines.length + offset) * 8);
    program.writeUInt32LE(verdict, (lines.length + offset) * 8 + 4);
  }
  return program;
}
