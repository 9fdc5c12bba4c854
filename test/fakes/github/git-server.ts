import { execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { allows, tokenOf } from './auth.ts';
import type { FakeRepository, HostState } from './state.ts';

let backend: string | null = null;

/** Git's own server side (https://git-scm.com/docs/git-http-backend). */
function backendPath(): string {
  backend ??= join(execFileSync('git', ['--exec-path']).toString().trim(), 'git-http-backend');
  return backend;
}

/** Serves a repository over smart HTTP, by `git http-backend`. Gives the repository that was pushed to, if it was. */
export async function serveGit(state: HostState, request: IncomingMessage, response: ServerResponse): Promise<FakeRepository | null> {
  const url = new URL(request.url ?? '/', 'http://host');
  const [, owner = '', name = '', rest = ''] = /^\/([^/]+)\/([^/]+?)(?:\.git)?(\/.*)$/.exec(decodeURIComponent(url.pathname)) ?? [];
  const isPush = rest === '/git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack';
  const repository = state.repositories.find((each) => each.owner === owner && each.name === name);
  const verdict = mayPass(state, repository, { authorization: request.headers.authorization, isPush });
  if (verdict !== 200 || !repository) {
    response.writeHead(verdict, verdict === 401 ? { 'www-authenticate': 'Basic realm="GitHub"' } : {}).end('Repository not found.');
    return null;
  }
  await runBackend(repository, { rest, url, request, response });
  return isPush && request.method === 'POST' ? repository : null;
}

function mayPass(
  state: HostState,
  repository: FakeRepository | undefined,
  { authorization, isPush }: { authorization: string | undefined; isPush: boolean },
): number {
  if (authorization === undefined) return repository && !repository.isPrivate && !isPush ? 200 : 401;
  try {
    const token = tokenOf(state, authorization);
    const isOpen = repository !== undefined && (token.repositoryIds.has(repository.id) || (!repository.isPrivate && !isPush));
    if (!isOpen) return 404;
    return allows(token.permissions['contents'], isPush ? 'write' : 'read') ? 200 : 403;
  } catch {
    return 401;
  }
}

interface Served {
  readonly rest: string;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function runBackend(repository: FakeRepository, { rest, url, request, response }: Served): Promise<void> {
  const environment = {
    PATH: process.env['PATH'] ?? '',
    GIT_PROJECT_ROOT: repository.folder,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    PATH_INFO: rest,
    REMOTE_USER: 'installation',
    REMOTE_ADDR: '127.0.0.1',
    REQUEST_METHOD: request.method ?? 'GET',
    QUERY_STRING: url.search.slice(1),
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
  };
  const child = spawn(backendPath(), [], { env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  response.on('close', () => child.kill());
  let head: Buffer | null = Buffer.alloc(0);
  for await (const part of child.stdout) {
    const bytes = Buffer.from(part);
    if (head === null) {
      if (!response.write(bytes)) await drained(response);
      continue;
    }
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) continue;
    writeHead(response, head.subarray(0, end).toString());
    response.write(head.subarray(end + 4));
    head = null;
  }
  response.end();
}

function writeHead(response: ServerResponse, head: string): void {
  const lines = head.split('\r\n').map((line) => line.split(/:\s*/, 2) as [string, string]);
  const status = lines.find(([name]) => name.toLowerCase() === 'status');
  response.writeHead(status ? Number.parseInt(status[1], 10) : 200, Object.fromEntries(lines.filter((line) => line !== status)));
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
