/* dice.mjs -- chance that can be repeated: the same numbers for each seed.
 *
 * `make check` always plays the same, as it does with the fuzzers. ANTIPHON_TEST_SEED=random looks for what
 * is not known yet, ANTIPHON_TEST_SEED=N plays that again: tests print the seed they used. */
const wanted = process.env.ANTIPHON_TEST_SEED ?? '1';

export const SEED = wanted === 'random' ? Date.now() % 1_000_000 : Number(wanted);

/* Gives numbers below n (xorshift). */
export function dice(seed = SEED) {
    let state = (seed * 2654435761) >>> 0 || 1;
    return (n) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % n;
    };
}
