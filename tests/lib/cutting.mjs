/* cutting.mjs -- the same text of a model in many pieces.
 *
 * Pieces end where characters end: each becomes a string of JSON, which holds no half of one. */

/* Cut before the characters for which `here` (of their index) is true. */
function cut(text, here) {
    const pieces = [''];
    [...text].forEach((char, i) => {
        if (i > 0 && here(i))
            pieces.push('');
        pieces[pieces.length - 1] += char;
    });
    return pieces;
}

export const byCharacter = (text) => cut(text, () => true);

export const everyFew = (text, n) => cut(text, (i) => i % n === 0);

/* At places that the dice choose, about one of n. */
export const atRandom = (text, below, n = 4) => cut(text, () => below(n) === 0);

/* At offsets of bytes, each moved to the next end of a character. */
export function atBytes(text, offsets) {
    const ends = [];
    let at = 0;
    for (const char of text)
        ends.push(at += Buffer.byteLength(char));
    const places = new Set(offsets.map((offset) => ends.findIndex((end) => end >= offset) + 1));
    return cut(text, (i) => places.has(i));
}
