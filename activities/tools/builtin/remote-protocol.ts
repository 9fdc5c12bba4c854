import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Attributes } from '@opentelemetry/api';
import Type from 'typebox';
import { Value } from 'typebox/value';
import { type McpPrincipal, sharedPrincipal } from '../../../db/mcp/connection-queries.ts';
import { readRemoteTool, type McpToolkit } from '../../../db/toolkits/mcp-toolkits.ts';
import type { ToolkitTool } from '../../../db/toolkits/toolkit-tool.ts';
import { EgressRefused, EgressUndecodable, EgressUnreachable } from '../../../ports/egress/egress.ts';
import type { TenantSchemas } from '../../../ports/json/schema.ts';
import { attribute } from '../../../ports/telemetry/conventions.ts';
import { inSpan, withTraceparent } from '../../../ports/telemetry/spans.ts';
import { exactText, rounded } from '../../../workflows/contracts/tools/exact-json.ts';
import { runHeader } from '../../../workflows/contracts/triggers/hops.ts';
import { McpError } from '../../../ports/mcp/errors.ts';
import { McpTooMuch } from '../../../ports/mcp/fetch.ts';
import { consentForRun } from '../../mcp/run-consent.ts';
import { useMcp } from '../../mcp/use-mcp.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { exactOutcome, failed, toolError, type GuardedExecution, type ToolFile, type ToolOutcome } from '../calls/outcome.ts';

/** Config of a tool of kind `remote_protocol` as the activation stored it. */
const RemoteConfig = Type.Object({ toolkit_id: Type.String(), remote_name: Type.String() });

/** Calls a tool of an MCP server with the client of its toolkit. An error that the server reports is a result for the model. */
export async function executeRemote(deps: ToolDeps, execution: GuardedExecution): Promise<ToolOutcome> {
  const config = Value.Parse(RemoteConfig, execution.tool.config);
  const found = await execution.transact((tx) => readRemoteTool(tx, { toolkitId: config.toolkit_id, remoteName: config.remote_name }));
  if (found === null || !found.toolkit.isActive) return failed('tool_unavailable', 'the toolkit of the tool is not active any more', false);
  const { toolkit, tool } = found;
  if (tool === null) return failed('tool_unavailable', 'the tool is not in the active revision of its toolkit', false);
  const principal = principalOf(toolkit, execution);
  if (principal === null) return failed('auth_required', 'the tool works for users only, and the run has none', false, 'per_user');

  let hasLeft = false;
  const { policy, secret, conceal, transact, signal, timeoutMs } = execution;
  const { workspaceId } = execution.place;
  const onToolsChanged = () => deps.toolsChanged(toolkit, principal);
  const ask = { toolkit, principal, policy, secret, conceal, transact, workspaceId, signal, timeoutMs, onToolsChanged };
  const call = () =>
    useMcp(deps, ask, (session, patience) => {
      hasLeft = true;
      const headers = { ...patience.headers, ...(execution.run === null ? {} : { [runHeader]: execution.run.id }) };
      return inSpan({ name: `tools/call ${tool.name}`, kind: 'client', attributes: mcpAttributes(tool.name) }, () =>
        session.callTool(
          { name: tool.name, args: execution.args, inputSchema: tool.input_schema },
          { ...patience, headers: withTraceparent(headers) },
        ),
      );
    });
  try {
    const result = await call().catch(async (error: unknown) => {
      if (execution.run === null || principal.kind !== 'user' || !isUnauthorized(error)) throw error;
      const consent = await consentForRun(deps, ask, error);
      if (consent.isGranted) return call();
      throw consent.isAsked ? new ConsentAsked() : error;
    });
    return await outcomeOf(deps.schemas.of(execution.place.organizationId), tool, result);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConsentAsked)
      return { status: 'failed', error: toolError('auth_required', error.message, false), needsConsent: true };
    return failureOf(error, hasLeft);
  }
}

/** The conventions for MCP: the name of a client's span is method and target. */
function mcpAttributes(tool: string): Attributes {
  return { [attribute.mcpMethod]: 'tools/call', [attribute.operation]: 'execute_tool', [attribute.toolName]: tool };
}

class ConsentAsked extends Error {
  constructor() {
    super('the server asks for the consent of the user for whom the run works');
  }
}

function isUnauthorized(error: unknown): error is McpError {
  return error instanceof McpError && error.kind === 'unauthorized';
}

/** Returns the owner of the connection: shared by all, or the user for whom the run works. Null: there is no such user. */
function principalOf(toolkit: McpToolkit, { variables }: GuardedExecution): McpPrincipal | null {
  const { auth } = toolkit.config;
  if (auth.type !== 'oauth' || auth.mode === 'shared') return sharedPrincipal;
  const subject = variables['subject'];
  if (subject === null || typeof subject !== 'object' || Reflect.get(subject, 'kind') !== 'user') return null;
  const id: unknown = Reflect.get(subject, 'id');
  return typeof id === 'string' ? { kind: 'user', id } : null;
}

/** `isError` means failed; structured content comes first; images, audio and other bytes become files; links stay text. */
async function outcomeOf(schemas: TenantSchemas, tool: ToolkitTool, result: CallToolResult): Promise<ToolOutcome> {
  const { text, files } = readContent(result);
  if (result.isError) return failed('upstream_status', text === '' ? 'the tool failed' : text, false, 'is_error');

  const value = result.structuredContent;
  if (value === undefined) {
    if (files.length > 0) return { status: 'succeeded', type: 'files', files, text };
    return { status: 'succeeded', type: 'text', text };
  }
  const problems = tool.output_schema === null ? [] : await schemas.validate(tool.output_schema, rounded(value));
  // A schema that can't be applied says nothing about the value.
  const broken = problems.find((problem) => problem.rule !== 'schema');
  if (broken)
    return failed('upstream_status', `the result is not as the tool declares: ${broken.pointer} ${broken.message}`, false, 'output_schema');
  if (files.length > 0) return { status: 'succeeded', type: 'files', files, text: exactText(value) };
  return exactOutcome(value);
}

function readContent(result: CallToolResult): { text: string; files: ToolFile[] } {
  const texts: string[] = [];
  const files: ToolFile[] = [];
  for (const block of result.content) {
    switch (block.type) {
      case 'text':
        texts.push(block.text);
        break;
      case 'image':
      case 'audio':
        files.push({ name: `${block.type}-${files.length + 1}`, mediaType: block.mimeType, bytes: Buffer.from(block.data, 'base64') });
        break;
      case 'resource_link':
        texts.push(`${block.name}: ${block.uri}`);
        break;
      case 'resource':
        if ('text' in block.resource) texts.push(block.resource.text);
        else files.push(fileOf(block.resource));
        break;
      default:
        block satisfies never;
    }
  }
  return { text: texts.join('\n\n'), files };
}

function fileOf({ uri, mimeType, blob }: { uri: string; mimeType?: string | undefined; blob: string }): ToolFile {
  const name = uri.split(/[?#]/)[0]?.split('/').findLast(Boolean) ?? 'file';
  return { name, mediaType: mimeType ?? 'application/octet-stream', bytes: Buffer.from(blob, 'base64') };
}

/** `hasLeft`: the call itself was sent, so it may have happened whatever its result. */
function failureOf(error: unknown, hasLeft: boolean): ToolOutcome {
  if (error instanceof EgressRefused) return failed('egress_refused', error.message, false);
  if (error instanceof EgressUndecodable)
    return { status: 'failed', error: toolError('upstream_status', error.message, false, 'undecodable'), mayHaveHappened: hasLeft };
  if (error instanceof EgressUnreachable)
    return {
      status: 'failed',
      error: toolError('upstream_unreachable', error.message, true),
      mayHaveHappened: hasLeft && error.mayHaveArrived,
    };
  if (error instanceof McpTooMuch)
    return { status: 'failed', error: toolError('upstream_status', error.message, false, 'too_large'), mayHaveHappened: hasLeft };
  if (!(error instanceof McpError)) throw error;
  return ofMcp(error, hasLeft);
}

function ofMcp({ kind, code, message }: McpError, hasLeft: boolean): ToolOutcome {
  switch (kind) {
    case 'unauthorized':
      return failed('auth_required', message, false);
    case 'secret_missing':
      return failed('secret_missing', message, false);
    case 'protocol_unsupported':
    case 'input_required':
      return failed('tool_unavailable', message, false, kind);
    case 'refused':
      return failed('upstream_status', `the server refused the call: ${message}`, false, code === null ? null : String(code));
    case 'status':
      return failed('upstream_status', message, code === 429 || code === 408 || (code ?? 0) >= 500, code === null ? null : String(code));
    case 'session_lost':
      return failed('upstream_unreachable', message, true, kind);
    case 'timed_out':
      return { status: 'timed_out', error: toolError('timed_out', message, true), mayHaveHappened: hasLeft };
    case 'malformed':
      return { status: 'failed', error: toolError('upstream_status', message, false, kind), mayHaveHappened: hasLeft };
    default:
      return kind satisfies never;
  }
}
