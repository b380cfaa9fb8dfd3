/* report.mjs -- the rows as a table: text for the terminal, Markdown for docs. */

/* Three digits are what such figures are worth. */
function digits(n) {
    return n >= 100 ? Math.round(n).toLocaleString('en') : String(Number(n.toPrecision(3)));
}

function spread(f) {
    if (f === undefined)
        return '';
    return f.min === f.max ? digits(f.median) : `${digits(f.median)} (${digits(f.min)}-${digits(f.max)})`;
}

export function ratio(row) {
    return row.antiphon && row.nginx ? row.antiphon.median / row.nginx.median : undefined;
}

/* A target is a bound of the figure, or of the ratio ("x nginx"). */
function verdict(row) {
    const { target } = row;
    if (target === undefined)
        return '';
    const value = target.ratio ? ratio(row) : row.antiphon.median;
    return `<= ${digits(target.most)}${target.ratio ? ' x nginx' : ''}: ${value <= target.most ? 'met' : 'not met'}`;
}

const HEAD = ['What', 'Unit', 'antiphon', 'nginx', 'Ratio', 'Target'];

const cells = (row) => [row.name, row.unit, spread(row.antiphon), spread(row.nginx), ratio(row)?.toFixed(2) ?? '', verdict(row)];

export function markdown(rows) {
    const all = [HEAD, ...rows.map(cells)];
    const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i].length)));
    const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
    return [line(HEAD), `|${widths.map((w) => '-'.repeat(w + 2)).join('|')}|`, ...all.slice(1).map(line)].join('\n');
}
