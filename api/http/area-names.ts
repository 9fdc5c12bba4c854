/** The areas in the order of the specification; `Operator` comes last and stays out of the public reference. */
export const areaNames = [
  'Runs', 'Sessions', 'Agents', 'Skills', 'Tools', 'Knowledge', 'Triggers', 'Events', 'Channels', 'Authentication', 'Organizations & workspaces',
  'Billing', 'Alerts', 'Attachments', 'Code review', 'Evaluations', 'Feedback', 'Ingress', 'Knowledge maintenance', 'Mcp', 'Oauth', 'System', 'Operator',
] as const;
