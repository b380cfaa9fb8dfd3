/* main.mjs -- the benchmark's command line; bench/run explains it. */
import { measures } from './measures.mjs';
import { machine, table, writeDocs, writeResults } from './report.mjs';

const OPTIONS = ['--quick', '--realtime', '--docs', '--list'];

const flags = process.argv.slice(2).filter((a) => a.startsWith('--'));
const names = process.argv.slice(2).filter((a) => !a.startsWith('--'));
const unknown = [...flags.filter((f) => !OPTIONS.includes(f)), ...names.filter((n) => !(n in measures))];

async function measure(wanted) {
    const rows = [];
    for (const name of wanted) {
        console.error(`bench: ${name}`);
        rows.push(...await measures[name]({ runs: flags.includes('--quick') ? 3 : 5 }));
    }
    return rows;
}

/* The table of some measures is only shown; files hold all of them. */
async function main() {
    const on = await machine();
    const rows = await measure(names.length > 0 ? names : Object.keys(measures));
    console.log(table(rows));
    if (names.length > 0)
        return;
    writeResults(rows, on);
    if (flags.includes('--docs'))
        writeDocs(rows, on);
}

if (unknown.length > 0) {
    console.error(`bench/run: not known: ${unknown.join(' ')}`);
    process.exitCode = 2;
} else if (flags.includes('--list')) {
    console.log(Object.keys(measures).join('\n'));
} else {
    await main().catch((error) => {
        console.error(`bench: ${error.stderr || error.message}`);
        process.exitCode = 1;
    });
}
process.exit(); /* what still runs ends with it */
