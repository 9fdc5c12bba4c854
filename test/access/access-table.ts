import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { expectedOf } from './expected.ts';
import { actorSpecs } from './world/actors.ts';

const legend = `# Who may do what

Made by \`test/access/table.test.ts\` from the list of operations and the rules of access (\`ACCESS_TABLE=write\` writes it anew); the same test sends
each request and fails where an answer differs. Every request is right in all but, perhaps, its sender: rows of workspace A1 in the path, a
valid body that names rows of the sender's own workspace.

- 401: nobody, or a credential that has expired; also an OAuth client's own credential that is missing. 403: below the floor, a key where a
  user's session is demanded, or a visible row that is not the sender's to change. 404: a row that the sender does not see. 2xx: done.
- A1 and A2 are workspaces of organization A; "admin A" and "owner A" are of the whole organization; B is another one. "admin A4, viewer A1"
  is at home in A4 and a viewer of A1 by grant. "key A1" is a service key of A1 with the role admin. "operator in A" narrows itself with
  X-View-Organization.
`;

/** The table for people: operation by actor, the status that the design demands. */
export function accessTable(operations: readonly RegisteredOperation[]): string {
  const names = actorSpecs.map(({ name }) => name);
  const areas = Map.groupBy(operations, ({ area }) => area);
  const sections = [...areas].map(([area, members]) => {
    const head = ['Operation', 'Floor', ...names];
    const lines = members.map((operation) => [
      operation.operationId,
      operation.access,
      ...actorSpecs.map((spec) => String(expectedOf(operation, spec).status)),
    ]);
    return `## ${area}\n\n${[head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
  });
  return [legend, ...sections].join('\n');
}
