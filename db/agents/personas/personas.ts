import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Persona } from './persona.entity.ts';
import type { PersonaDocument } from './persona-document.ts';

/** A persona as it is read. */
export interface PersonaRow {
  readonly id: string;
  readonly agent_id: string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly is_default: boolean;
  readonly is_active: boolean;
  readonly version: number;
  readonly document: PersonaDocument;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

const columns =
  'p.id, p.agent_id, p.organization_id, p.workspace_id, p.slug, p.is_default, p.is_active, p.version, p.document, p.row_version, p.created_at, p.updated_at';

/** Returns a persona of an agent that the caller sees. Throws 404, also for a persona of another agent. */
export async function readPersona(ctx: Scoped, agentId: string, personaId: string): Promise<PersonaRow> {
  const visible = visibleToSql(ctx, Persona, 'p');
  const found = await row<PersonaRow>(
    ctx.em,
    `select ${columns} from personas p where p.id = ? and p.agent_id = ? and p.deleted_at is null and ${visible.sql}`,
    [personaId, agentId, ...visible.params],
  );
  return seen(ctx, found);
}

/** Lists the personas of an agent that the caller may see, newest first. */
export function listPersonaRows(ctx: Scoped, agentId: string, page: PageRequest): Promise<Page<PersonaRow>> {
  const visible = visibleTo(ctx, Persona, 'p');
  return fetchPage<PersonaRow>(ctx.em, {
    select: columns,
    from: 'personas p',
    where: `p.agent_id = ? and p.deleted_at is null and ${visible.sql}`,
    params: [agentId, ...visible.params],
    order: [{ column: 'p.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Returns how many personas an agent has. */
export async function countPersonas(tx: Pick<TenantTransaction, 'em'>, agentId: string): Promise<number> {
  const found = await row<{ n: number }>(tx.em, 'select count(*)::int as n from personas where agent_id = ? and deleted_at is null', [
    agentId,
  ]);
  return found?.n ?? 0;
}
