/** What a published client registers and where it has itself sent back to; `redirect` is the one it uses. */
export interface RecordedClient {
  readonly name: string;
  /** Where its shape is known from. */
  readonly source: string;
  readonly body: Readonly<Record<string, unknown>> & { readonly redirect_uris: readonly string[] };
  /** The redirect of its authorization request, where another than the first. */
  readonly redirect?: string;
}

const codeFlow = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };
/** What clients that follow the challenge ask for, and register with. */
const told =
  'mcp:read runs:read runs:write agents:read skills:read tools:read knowledge:read knowledge:write feedback:read feedback:write triggers:read triggers:write';

/** Registrations as clients send them; values that tell a client are its own, the rest is made anew. */
export const recordedClients: readonly RecordedClient[] = [
  {
    name: 'Cursor',
    source: 'github.com/erp-mafia/accounted/pull/2225, github.com/bytebase/bytebase/issues/20510',
    body: {
      ...codeFlow,
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      token_endpoint_auth_method: 'none',
    },
  },
  {
    name: 'VS Code',
    source: 'github.com/microsoft/vscode, src/vs/base/common/oauth.ts, fetchDynamicRegistration',
    body: {
      ...codeFlow,
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      scope: told,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirect: 'http://127.0.0.1:50213/',
  },
  {
    name: 'an extension of VS Code',
    source: 'the redirect that forks and extensions share: github.com/trypostit/trypost/pull/336',
    body: { client_name: 'Extension', redirect_uris: ['vscode://vscode.github-authentication/did-authenticate'] },
  },
  {
    name: 'GitHub Copilot in JetBrains IDEs',
    source: 'github.com/microsoft/copilot-intellij-feedback/issues/2041',
    body: { ...codeFlow, redirect_uris: ['http://127.0.0.1:33428/callback', 'http://127.0.0.1/callback'] },
    redirect: 'http://127.0.0.1:51117/callback',
  },
  {
    name: 'a plugin in JetBrains IDEs',
    source: 'github.com/Kilo-Org/kilocode/pull/5145',
    body: { ...codeFlow, redirect_uris: ['jetbrains://idea/ai.kilocode.jetbrains.oauth?provider=mcp', 'http://localhost:63342/callback'] },
  },
  {
    name: 'Windsurf',
    source: 'the redirect that servers list for it: github.com/trypostit/trypost/pull/336',
    body: { ...codeFlow, client_name: 'Windsurf', redirect_uris: ['windsurf://codeium.windsurf/callback', 'http://127.0.0.1/callback'] },
  },
  {
    name: 'a mobile application that names no more than it must',
    source: 'github.com/jsdelivr/globalping-mcp-server/issues/12',
    body: { response_types: ['code'], grant_types: ['authorization_code'], client_name: 'HopperAI', redirect_uris: ['hopperai://oauth'] },
  },
  {
    name: 'Claude Code',
    source: 'github.com/elmohq/elmo/pull/684',
    body: {
      ...codeFlow,
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost:3118/callback'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  },
  {
    name: 'Codex',
    source: 'github.com/elmohq/elmo/pull/684, github.com/openai/codex/issues/30460',
    body: {
      ...codeFlow,
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1:37819/callback/cXVpdGUgYSBs'],
      application_type: 'native',
    },
  },
  {
    name: 'Python mcp 2.3',
    source: 'recorded against `npm start`',
    body: {
      ...codeFlow,
      client_name: 'Python',
      redirect_uris: ['http://localhost:3030/callback'],
      scope: told,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  },
  {
    name: 'fastmcp 2.14, which names no method',
    source: 'recorded against `npm start`',
    body: { ...codeFlow, client_name: 'FastMCP Client', redirect_uris: ['http://localhost:48795/callback'], scope: told },
  },
];
