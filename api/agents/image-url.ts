import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import { checkUrlForm, EgressRefused } from '../../ports/egress.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation.ts';

/** 422 for an image address that the egress guard would not let out; absent and null fit. */
export async function checkImageUrl(ctx: Ctx, url: string | null | undefined, organizationId: string | null): Promise<void> {
  if (url === undefined || url === null) return;
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
  try {
    checkUrlForm(url, policy);
  } catch (error) {
    if (error instanceof EgressRefused) throw invalid('/image_url', 'egress', `The URL is refused: ${error.message}`);
    throw error;
  }
}
