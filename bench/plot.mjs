/* plot.mjs -- the rows that have a panel, as an SVG.
 *
 * Horizontal bars, antiphon above nginx, a whisker from the smallest to the largest
 * run. Every panel has a scale of its own, from zero. The background is drawn, so
 * that it reads the same in a dark viewer.
 */
import { digits } from './digits.mjs';

const WIDTH = 860;
const LEFT = 300; /* where bars begin */
const RIGHT = 130; /* room for the value behind the longest bar */
const BAR = 16;
const ROW = 2 * BAR + 22;
const COLOURS = { antiphon: '#0b6e99', nginx: '#b8bec6' };
const TEXT = '#24292f';
const QUIET = '#57606a';

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function text(x, y, content, more = '') {
    return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${TEXT}" ${more}>${escape(content)}</text>`;
}

function line(x1, y1, x2, y2, colour) {
    const at = [x1, y1, x2, y2].map((n) => n.toFixed(1));
    return `<line x1="${at[0]}" y1="${at[1]}" x2="${at[2]}" y2="${at[3]}" stroke="${colour}"/>`;
}

/* A bar, its whisker, and the median behind both. */
function bar(figure, who, y, scale) {
    const x = (value) => LEFT + value * scale;
    const middle = y + BAR / 2;
    const whisker = figure.min === figure.max ? [] : [
        line(x(figure.min), middle, x(figure.max), middle, TEXT),
        line(x(figure.min), middle - 4, x(figure.min), middle + 4, TEXT),
        line(x(figure.max), middle - 4, x(figure.max), middle + 4, TEXT),
    ];
    return [
        `<rect x="${LEFT}" y="${y}" width="${(figure.median * scale).toFixed(1)}" height="${BAR - 2}" fill="${COLOURS[who]}"/>`,
        ...whisker,
        text(x(Math.max(figure.median, figure.max)) + 8, middle + 4, `${digits(figure.median)} ${who}`, 'font-size="12"'),
    ];
}

function panel(title, rows, top) {
    const most = Math.max(...rows.flatMap((row) => [row.antiphon.max, row.nginx.max]));
    const scale = (WIDTH - LEFT - RIGHT) / most;
    const out = [text(24, top + 18, `${title}, ${rows[0].unit}`, 'font-weight="600" font-size="15"')];
    rows.forEach((row, i) => {
        const y = top + 34 + i * ROW;
        out.push(text(LEFT - 12, y + BAR + 4, row.name, 'text-anchor="end"'),
            ...bar(row.antiphon, 'antiphon', y, scale), ...bar(row.nginx, 'nginx', y + BAR, scale));
    });
    out.push(line(LEFT, top + 28, LEFT, top + 34 + rows.length * ROW - 16, QUIET));
    return out;
}

export function plot(rows, subtitle) {
    const drawn = rows.filter((row) => row.panel && row.antiphon && row.nginx);
    const parts = [
        text(24, 36, 'Antiphon, beside nginx passing the same bytes through', 'font-weight="600" font-size="19"'),
        text(24, 58, subtitle, 'font-size="12" opacity="0.8"'),
    ];
    let top = 80;
    for (const title of new Set(drawn.map((row) => row.panel))) {
        const own = drawn.filter((row) => row.panel === title);
        parts.push(...panel(title, own, top));
        top += 44 + own.length * ROW;
    }
    return [
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}"`,
        ' font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        `<rect width="${WIDTH}" height="${top}" rx="8" fill="#ffffff"/>`,
        ...parts,
        '</svg>',
        '',
    ].join('\n');
}
