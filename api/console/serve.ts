import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fail } from '../../workflows/contracts/failure.ts';
import { unknownPath } from '../http/unknown-path.ts';
import { watchBuilds, type BuiltFile } from './builds.ts';

export interface ConsoleOptions {
  readonly publicUrl: string;
  /** Folder of one build, or of several. */
  readonly dir: string;
}

/** Nothing runs, loads or is sent but from and to the deployment itself, and no text ever becomes markup. */
const contentSecurityPolicy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' blob: data:`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `form-action 'none'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types 'none'`,
].join('; ');

const pageHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
};
const fileHeaders = { 'cache-control': 'public, max-age=31536000, immutable' };
const prefix = '/console';

/**
 * Serves the built console at `/console`, and leads browsers there from `/`. It is no operation: it has no credential, no quota and no place in the document.
 * Any path without a dot is one of the console's own, and gets its page.
 */
export function serveConsole(app: FastifyInstance, { publicUrl, dir }: ConsoleOptions): void {
  const served = watchBuilds(dir);
  const methods = ['GET', 'HEAD'];

  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    const builds = served();
    if (builds === null) throw notBuilt();
    const path = pathOf(request).slice(prefix.length + 1);
    if (!path.includes('.')) return sendFile(request, reply.headers(pageHeaders), builds.page);
    const file = path === 'index.html' ? undefined : builds.files.get(path);
    if (file === undefined)
      throw fail('not_found', { detail: 'The console has no such file. It may have been updated: load the page again.' });
    return sendFile(request, reply.headers(fileHeaders), file);
  };
  for (const url of [prefix, `${prefix}/*`])
    app.route({ method: methods, url, exposeHeadRoute: false, handler: async (...http) => answer(...http) });

  app.route({
    method: methods,
    url: '/',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      if (!(request.headers.accept ?? '').includes('text/html')) throw unknownPath(publicUrl, '/');
      return reply.redirect(prefix, 302);
    },
  });
}

function notBuilt() {
  return fail('service_unavailable', {
    detail: 'The console has not been built yet. `npm start` builds it in the background, `npx longhaul console build` at once.',
    retryAfterS: 10,
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  reply.headers({ vary: 'Accept-Encoding', etag: file.etag });
  if (request.headers['if-none-match']?.includes(file.etag)) return reply.code(304).send();

  const { bytes, encoding } = encodedFor(request.headers['accept-encoding']?.toString() ?? '', file);
  reply.headers({ 'content-type': file.contentType, 'content-length': bytes.length });
  if (encoding !== null) reply.header('content-encoding', encoding);
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes);
}

function encodedFor(accepted: string, { plain, br, gzip }: BuiltFile): { readonly bytes: Buffer; readonly encoding: string | null } {
  const takes = (encoding: string) =>
    accepted.split(',').some((one) => new RegExp(`^\\s*${encoding}\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*$)|$)`).test(one));
  if (br !== null && takes('br')) return { bytes: br, encoding: 'br' };
  if (gzip !== null && takes('gzip')) return { bytes: gzip, encoding: 'gzip' };
  return { bytes: plain, encoding: null };
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? prefix).replace(/[?#].*$/s, '');
}
