/* dice.mjs -- chance that can be repeated: the same numbers for each seed.
 *
 * ANTIPHON_TEST_SEED repeats what failed; tests print the seed they used. */
export const SEED = Number(process.env.ANTIPHON_TEST_SEED ?? Date.now() % 1_000_000);

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
