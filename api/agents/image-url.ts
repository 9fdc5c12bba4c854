import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { refusalOfUrl } from '../../ports/egress/url.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';

/** The URL of a picture and its location in the body. */
interface ImageUrl {
  readonly pointer: string;
  readonly url: string | null | undefined;
}

/** 422 for an image address that the egress guard would not let out; absent and null fit. */
export function checkImageUrl(ctx: Ctx, url: string | null | undefined, organizationId: string | null): Promise<void> {
  return checkImageUrls(ctx, [{ pointer: '/image_url', url }], organizationId);
}

/** The same for several at once: one statement, and one answer for all that are refused. */
export async function checkImageUrls(ctx: Ctx, images: readonly ImageUrl[], organizationId: string | null): Promise<void> {
  const given = images.flatMap(({ pointer, url }) => (url ? [{ pointer, url }] : []));
  if (given.length === 0) return;
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
  const errors = given.flatMap(({ pointer, url }): Violation[] => {
    const why = refusalOfUrl(url, policy);
    return why === null ? [] : [{ in: 'body', pointer, name: null, rule: 'egress', message: `The URL is not allowed: ${why}` }];
  });
  if (errors.length > 0) throw fail('validation_failed', { errors });
}
