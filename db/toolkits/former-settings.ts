import { rows } from '../sql.ts';
import type { ToolDescriptor } from '../tools/tool-descriptor.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Settings that were in force with a revision, until another followed it. */
export interface FormerSettings {
  /** Hash of the tool that they were approved for. */
  readonly remoteHash: string;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly isIdempotent: boolean;
  readonly timeoutS: number;
  readonly responseMaxChars: number;
}

/**
 * The settings that the tools of a toolkit had last while a revision was in force, by tool id: those of its latest activation, with what was
 * said by hand afterwards. Empty for a revision that never was in force.
 */
export async function formerSettings(
  tx: TenantTransaction,
  toolkitId: string,
  revisionId: string,
): Promise<ReadonlyMap<string, FormerSettings>> {
  const found = await rows<{ tool_id: string; remote_hash: string; descriptor: ToolDescriptor }>(
    tx.em,
    `select a.tool_id, a.remote_hash, l.descriptor
       from (select distinct on (v.tool_id) v.tool_id, v.version, v.descriptor ->> 'remote_hash' as remote_hash
               from tool_versions v join tools t on t.id = v.tool_id
              where t.toolkit_id = ? and v.toolkit_revision_id = ? order by v.tool_id, v.version desc) a
      cross join lateral (select h.descriptor from tool_versions h where h.tool_id = a.tool_id and h.version >= a.version
        and h.version < coalesce((select min(n.version) from tool_versions n where n.tool_id = a.tool_id and n.version > a.version
          and n.toolkit_revision_id is not null), 2147483647) order by h.version desc limit 1) l
      where a.remote_hash is not null`,
    [toolkitId, revisionId],
  );
  return new Map(found.map(({ tool_id, remote_hash, descriptor }) => [tool_id, toFormer(remote_hash, descriptor)]));
}

function toFormer(remoteHash: string, descriptor: ToolDescriptor): FormerSettings {
  return {
    remoteHash,
    effect: descriptor.effect,
    concurrency: descriptor.concurrency,
    isIdempotent: descriptor.is_idempotent,
    timeoutS: descriptor.timeout_s,
    responseMaxChars: descriptor.response_max_chars,
  };
}
