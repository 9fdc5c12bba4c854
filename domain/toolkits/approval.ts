import type { FormerSettings } from '../../db/toolkits/former-settings.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';

/** Settings of a tool that an approval decides beside its content; an absent one stays as it is, or takes the safe value. */
export interface ToolOverrides {
  readonly effect?: 'read' | 'write';
  readonly critical?: boolean;
  readonly concurrency?: 'read' | 'write' | 'exclusive';
  readonly idempotent?: boolean;
  readonly timeout_s?: number;
  readonly response_max_chars?: number;
}

type Known = Pick<Tool, 'remoteHash' | 'effect' | 'critical' | 'concurrency' | 'isIdempotent' | 'timeoutS' | 'responseMaxChars'>;
type Settings = Pick<Tool, 'effect' | 'critical' | 'concurrency' | 'isIdempotent' | 'timeoutS' | 'responseMaxChars'>;

/**
 * Returns the settings of an approved tool. A remote tool counts as a write until it is approved as read: what a server declares is only a proposal. A known
 * tool retains the settings in force; a changed one retains only those that it still proposes. A tool that returns to a content approved earlier (`former`)
 * gets the settings of that time; critical is never reset by that.
 */
export function settingsOf(
  { tool, former }: { readonly tool: Tool | null; readonly former: FormerSettings | null },
  found: ToolkitTool,
  asked: ToolOverrides,
): Settings {
  const isBack = tool !== null && former !== null && tool.remoteHash !== found.hash && former.remoteHash === found.hash;
  const existing: Known | null = isBack ? { ...former, critical: tool.critical } : tool;
  const effect = asked.effect ?? effectOf(existing, found);
  return {
    effect,
    concurrency: asked.concurrency ?? concurrencyOf(existing, found, effect),
    critical: asked.critical ?? existing?.critical ?? false,
    isIdempotent: asked.idempotent ?? isIdempotent(existing, found),
    timeoutS: asked.timeout_s ?? existing?.timeoutS ?? 60,
    responseMaxChars: asked.response_max_chars ?? existing?.responseMaxChars ?? 20_000,
  };
}

function effectOf(existing: Known | null, found: ToolkitTool): 'read' | 'write' {
  if (!existing) return found.execution ? found.proposed.effect : 'write';
  if (existing.remoteHash === found.hash) return existing.effect;
  return existing.effect === 'read' ? found.proposed.effect : 'write';
}

function concurrencyOf(existing: Known | null, found: ToolkitTool, effect: 'read' | 'write'): 'read' | 'write' | 'exclusive' {
  // An author's declaration counts; a server's is only a proposal.
  if (!existing) return found.execution && found.proposed.effect === effect ? found.proposed.concurrency : effect;
  return existing.concurrency === 'exclusive' || existing.effect === effect ? existing.concurrency : effect;
}

function isIdempotent(existing: Known | null, found: ToolkitTool): boolean {
  if (!existing?.isIdempotent) return false;
  return existing.remoteHash === found.hash || found.proposed.idempotent;
}
