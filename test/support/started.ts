/** How many processes of ours the test file that runs now has started; many a file costs little else. Told with `TEST_TIMES=1`. */
export const started = { processes: 0 };
