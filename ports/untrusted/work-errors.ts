/** The job took more time or memory than its sort may. The message says which, without a subject: `took more than 500 ms`. */
export class WorkLimit extends Error {
  override readonly name = 'WorkLimit';
}

/** The work itself refused the job; the message is the work's. */
export class WorkProblem extends Error {
  override readonly name = 'WorkProblem';
}
