/** Members of any object whose values never leave a process, in log lines as in spans. */
export const secretNames: readonly string[] = [
  'authorization',
  'password',
  'token',
  'refresh_token',
  'access_token',
  'plaintext',
  'secret',
  'api_key',
  'cookie',
  'set-cookie',
  'x-api-key',
];
