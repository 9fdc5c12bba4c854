import { fail, type Failure } from '../../workflows/contracts/failure.ts';

/** 404 that points explorers to the documents: in its text, and by the link relations of RFC 8631. */
export function unknownPath(publicUrl: string, url: string): Failure {
  const documents = [
    `<${publicUrl}/redoc>; rel="service-doc"; type="text/html"`,
    `<${publicUrl}/openapi.json>; rel="service-desc"; type="application/json"`,
  ];
  const path = url.replace(/\?.*$/s, '');
  const hint = path.length > 1 && path.endsWith('/') ? ' Paths do not end with a slash.' : '';
  return fail('not_found', {
    detail: `No operation has this path.${hint} See ${publicUrl}/redoc, or ${publicUrl}/openapi.json and ${publicUrl}/llms.txt for programs.`,
    headers: { link: documents.join(', ') },
  });
}
