// `@jest/globals` as one test file sees it: its own functions as they are, so that an error names the line of the test.
import { current } from './globals.mjs';

export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = current;
