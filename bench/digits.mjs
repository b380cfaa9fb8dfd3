/* digits.mjs -- a figure as it is shown: three digits are what such figures are worth. */
export function digits(n) {
    return Math.abs(n) >= 100 ? Math.round(n).toLocaleString('en') : String(Number(n.toPrecision(3)));
}
