/* report.mjs -- what becomes of the rows: a table, a plot, a file of figures, and
 * on request the figures in docs/performance.md.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { digits } from './digits.mjs';
import { output, RESULTS } from './processes.mjs';
import { plot } from './plot.mjs';

/* --- the table ------------------------------------------------------------------- */

function spread(f) {
    if (f === undefined)
        return '';
    return f.min === f.max ? digits(f.median) : `${digits(f.median)} (${digits(f.min)} to ${digits(f.max)})`;
}

function ratio(row) {
    return row.antiphon && row.nginx ? row.antiphon.median / row.nginx.median : undefined;
}

/* A target is a bound of the figure or, with `ratio`, of the ratio. */
function verdict(row) {
    const { target } = row;
    if (target === undefined)
        return '';
    const value = target.ratio ? ratio(row) : row.antiphon.median;
    return `${target.ratio ? 'ratio ' : ''}<= ${digits(target.most)}: ${value <= target.most ? 'met' : 'not met'}`;
}

const HEAD = ['What', 'Unit', 'antiphon', 'nginx', 'Ratio', 'Target'];

const cells = (row) => [row.name, row.unit, spread(row.antiphon), spread(row.nginx), ratio(row)?.toFixed(2) ?? '', verdict(row)];

export function table(rows) {
    const all = [HEAD, ...rows.map(cells)];
    const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i].length)));
    const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
    return [line(HEAD), `|${widths.map((w) => '-'.repeat(w + 2)).join('|')}|`, ...all.slice(1).map(line)].join('\n');
}

/* --- files ----------------------------------------------------------------------- */

const first = (text) => text.trim().split('\n')[0];

export async function machine() {
    return {
        date: new Date().toISOString().slice(0, 10),
        antiphon: first(await output('build/antiphon', '--version')),
        nginx: first(await output('sh', '-c', 'nginx -v 2>&1')).replace(/^.*: /, ''),
        cpu: `${cpus().length} x ${cpus()[0].model}`,
        kernel: `Linux ${release()}`,
        load: loadavg()[0].toFixed(1),
        priority: process.argv.includes('--realtime') ? 'real-time' : 'normal',
    };
}

const described = (m) => `${m.date}, ${m.antiphon}, ${m.nginx}, ${m.cpu}, ${m.kernel}; `
    + `load average before ${m.load}, ${m.priority} priority`;

export function writeResults(rows, on) {
    mkdirSync(RESULTS, { recursive: true });
    writeFileSync(`${RESULTS}/figures.json`, `${JSON.stringify({ machine: on, rows }, null, 1)}\n`);
    writeFileSync(`${RESULTS}/table.md`, `${table(rows)}\n`);
    writeFileSync(`${RESULTS}/plot.svg`, plot(rows, described(on)));
}

/* Replaces what stands between the two marks. */
export function writeDocs(rows, on) {
    const page = 'docs/performance.md';
    const block = `<!-- figures -->\n${described(on)}.\n\n${table(rows)}\n<!-- end of figures -->`;
    writeFileSync(page, readFileSync(page, 'utf8').replace(/<!-- figures -->[^]*<!-- end of figures -->/, () => block));
    copyFileSync(`${RESULTS}/plot.svg`, 'docs/performance.svg');
}
