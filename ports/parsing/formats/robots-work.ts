import robotsParser from 'robots-parser';

/** Whether a robots.txt lets this agent read a page. */
export interface RobotsJob {
  /** Address of the robots.txt. */
  readonly url: string;
  readonly text: string;
  readonly page: string;
  readonly agent: string;
}

// The package is CommonJS and its types declare a default export: at run time the import is the function itself.
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** Runs in a child of the pool: matching takes time proportional to the length of all rules times that of the path, half a minute for a hostile file. */
export function work({ url, text, page, agent }: RobotsJob): boolean {
  return parseRobots(url, text).isAllowed(page, agent) ?? true;
}
