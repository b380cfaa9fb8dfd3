/* measure_counts.mjs -- instructions and system calls for each event, and instructions of what
 * reads the text of models for each byte.
 *
 * Few streams, slow: every write of the upstream is read alone, also under a profiler.
 * Two lengths of stream are counted; their difference is free of starting and
 * ending. So it is with the bytes of a parser's text: none, and all.
 */
import { copyFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { directory, during, output, PROGRAMS, RESULTS, startMock } from './processes.mjs';
import { ask, figure, PROXIES } from './proxies.mjs';

const SLOW = { streams: 16, rate: 20, burst: 1 };
const SHORT = 20;
const LONG = 120;

const total = (profile) => Number(readFileSync(profile, 'utf8').match(/^summary: (\d+)/m)[1]);

/* `count` is told the plan and returns what was counted during it. */
async function perEvent(server, plan, count) {
    await ask(server, { ...plan, deltas: SHORT }); /* memory allocated, connections open */
    const less = await count({ ...plan, deltas: SHORT });
    const more = await count({ ...plan, deltas: LONG });
    return figure([(more - less) / (SLOW.streams * (LONG - SHORT))]);
}

/* The profile of the longer streams is kept for callgrind_annotate. */
async function instructionsOf(name) {
    const mock = await startMock();
    const file = join(directory, `callgrind.${name}`);
    const server = await PROXIES[name].start(mock, ['valgrind', '--tool=callgrind', `--callgrind-out-file=${file}`]);
    const control = (what) => output('callgrind_control', what, server.child.pid);
    let dumps = 0;
    const result = await perEvent(server, SLOW, async (plan) => {
        await control('--zero');
        await ask(server, plan);
        await control('--dump');
        return total(`${file}.${++dumps}`);
    });
    mkdirSync(RESULTS, { recursive: true });
    renameSync(`${file}.${dumps}`, join(RESULTS, `callgrind.${name}.out`));
    await server.stop();
    await mock.stop();
    return result;
}

async function callsOf(name, burst) {
    const mock = await startMock();
    const server = await PROXIES[name].start(mock);
    const file = join(directory, `strace.${name}`);
    const result = await perEvent(server, { ...SLOW, burst }, async (plan) => {
        await during(['strace', '-f', '-c', '-o', file, '-p', String(server.pid)], () => ask(server, plan));
        return Number(readFileSync(file, 'utf8').match(/^100\.00 +\S+ +\S+ +(\d+).* total$/m)[1]);
    });
    await server.stop();
    await mock.stop();
    return result;
}

export const instructions = async () => [{
    name: 'Instructions, callgrind', unit: '1/event', target: { most: 6000 },
    antiphon: await instructionsOf('antiphon'), nginx: await instructionsOf('nginx'),
}];

const calls = async (name, burst) =>
    ({ name, unit: '1/event', antiphon: await callsOf('antiphon', burst), nginx: await callsOf('nginx', burst) });

export const syscalls = async () => [
    await calls('System calls, each event alone', 1),
    await calls('System calls, 10 events to a write', 10),
];

/* ---- parsers ---- */

const TEXT_BYTES = 1024 * 1024;

async function profileOf(parser, bytes) {
    const file = join(directory, `callgrind.${parser}.${bytes}`);
    await output('valgrind', '--tool=callgrind', `--callgrind-out-file=${file}`, `${PROGRAMS}/parsers`, parser, bytes);
    return file;
}

async function perByte(parser) {
    const [none, all] = [await profileOf(parser, 0), await profileOf(parser, TEXT_BYTES)];
    mkdirSync(RESULTS, { recursive: true });
    copyFileSync(all, join(RESULTS, `callgrind.${parser}.out`));
    return figure([(total(all) - total(none)) / TEXT_BYTES]);
}

const instructionsPerByte = async (name, parser) => ({ name, unit: '1/byte', antiphon: await perByte(parser) });

export const parsers = async () => [
    await instructionsPerByte('Harmony parser, instructions', 'harmony'),
    await instructionsPerByte('Think tags, instructions', 'think'),
    await instructionsPerByte('Calls in text, instructions', 'calls'),
];
