/* main.mjs -- the benchmark's command line; bench/run explains it. */
import { measures } from './measures.mjs';
import { markdown } from './report.mjs';

const OPTIONS = ['--quick', '--realtime', '--list'];

const flags = process.argv.slice(2).filter((a) => a.startsWith('--'));
const names = process.argv.slice(2).filter((a) => !a.startsWith('--'));
const unknown = [...flags.filter((f) => !OPTIONS.includes(f)), ...names.filter((n) => !(n in measures))];

if (unknown.length > 0) {
    console.error(`bench/run: not known: ${unknown.join(' ')}; measures are ${Object.keys(measures).join(' ')}`);
    process.exit(2);
}
if (flags.includes('--list')) {
    console.log(Object.keys(measures).join('\n'));
    process.exit(0);
}

const rows = [];
for (const name of names.length > 0 ? names : Object.keys(measures)) {
    console.error(`bench: ${name}`);
    rows.push(...await measures[name]({ quick: flags.includes('--quick') }));
}
console.log(markdown(rows));
process.exit(0);
