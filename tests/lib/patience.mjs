/* patience.mjs -- how long tests wait before they give up.
 *
 * ANTIPHON_TEST_SLOW=N tells that the daemon runs N times slower than usual,
 * under valgrind or a sanitizer. Every guard waits so much longer; a test
 * that is about time has nothing to measure there and is left out:
 * `test(name, { skip: ABOUT_TIME }, ...)`. */
const SLOWNESS = Number(process.env.ANTIPHON_TEST_SLOW ?? 1);

export const patience = (ms) => ms * SLOWNESS;

export const IS_SLOW = SLOWNESS > 1;
export const ABOUT_TIME = IS_SLOW && 'its claim is about time, which a slowed-down daemon takes more of';
