// A process of its own, so that whoever logs can do so for as long as it lives, whatever becomes of its launcher. Each connection to its socket
// begins with a line, the path of a log file as JSON, and what follows goes to that file; the launcher's own names none. Ends with the last one.
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { joinLines, openLogFile, type LineJoin, type LogFile } from './log-file.ts';

const firstConnectionMs = 30_000;

const [, , socketPath = ''] = process.argv;
const files = new Map<string, LogFile>();
const open = new Set<Socket>();
const server = createServer(serve);

// It ends by itself, behind those whose last words it writes: a signal to all processes is not meant for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('exit', () => rmSync(dirname(socketPath), { recursive: true, force: true }));
setTimeout(endWithLast, firstConnectionMs).unref();
server.listen(socketPath, () => process.stdout.write('ready\n'));
process.stdout.on('error', () => undefined);

function serve(socket: Socket): void {
  open.add(socket);
  let lines: LineJoin | null = null;
  let head = Buffer.alloc(0);
  const begin = (piece: Buffer) => {
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\n');
    if (end < 0) return;
    const path: unknown = JSON.parse(head.toString('utf8', 0, end));
    if (typeof path !== 'string') return;
    const file = fileOf(path);
    lines = joinLines((whole) => file.append(whole));
    lines.take(head.subarray(end + 1));
  };

  socket.on('data', (piece: Buffer) => (lines === null ? begin(piece) : lines.take(piece)));
  socket.on('error', () => socket.destroy());
  // Before the server's end of the connection is closed, by which the launcher knows that all of it is written.
  socket.on('end', () => lines?.end());
  socket.on('close', () => {
    open.delete(socket);
    endWithLast();
  });
}

/** One for all that log to the same path, or two would rename it under each other. */
function fileOf(path: string): LogFile {
  const file = files.get(path) ?? openLogFile(path);
  files.set(path, file);
  return file;
}

function endWithLast(): void {
  if (open.size === 0) process.exit();
}
