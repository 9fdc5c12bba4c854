import { row } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** Where the organization's tools may go beside public addresses; `allowHttp` is the deployment's own setting. */
export async function readEgressPolicy(unit: Unit, allowHttp: boolean): Promise<{ allowHttp: boolean; exceptions: { host: string; port: number | null; allow_http: boolean }[] }> {
  const settings = await row<{ egress_allowlist: { host: string; port: number | null; allow_http: boolean }[] }>(
    unit.em,
    'select egress_allowlist from organization_settings where organization_id = ?',
    [unit.tenant.organizationId],
  );
  return { allowHttp, exceptions: settings?.egress_allowlist ?? [] };
}
