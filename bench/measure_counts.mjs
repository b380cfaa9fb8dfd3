/* measure_counts.mjs -- instructions and system calls for each event, and instructions of what
 * reads the text of models for each byte.
 *
 * Few streams, slow: every write of the upstream is read alone, also under a profiler.
 * Two lengths of stream are counted; their difference is free of starting and
 * ending. So it is with the bytes of a parser's text: none, and all.
 */
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf } from './bodies.mjs';
import { directory, during, output, PROGRAMS, RESULTS, startAntiphon, startMock } from './processes.mjs';
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

/* The profile of the longer streams is kept for callgrind_annotate, under the name of what was measured. What
 * happens within `afterMs` of their end is counted with them. `reach`: how the server is told of the mock. */
export async function instructionsOf(name, { what = name, more = {}, options = [], env = [], by = perEvent, afterMs = 0, reach = (mock) => mock } = {}) {
    const mock = await startMock();
    const file = join(directory, `callgrind.${what}`);
    const server = await PROXIES[name].start(reach(mock), ['env', ...env, 'valgrind', '--tool=callgrind', `--callgrind-out-file=${file}`], options);
    const control = (order) => output('callgrind_control', order, server.child.pid);
    let dumps = 0;
    const result = await by(server, { ...SLOW, ...more }, async (plan) => {
        await control('--zero');
        await ask(server, plan);
        await pause(afterMs);
        await control('--dump');
        return total(`${file}.${++dumps}`);
    });
    mkdirSync(RESULTS, { recursive: true });
    renameSync(`${file}.${dumps}`, join(RESULTS, `callgrind.${what}.out`));
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

/* ---- streams that are counted and traced ---- */

/* What an event takes, and a stream besides its events, which is where spans are made and sent. */
const apart = (runs) => async (server, plan, count) => {
    const of = (deltas) => count({ ...plan, deltas });
    const [events, streams] = [[], []];
    await of(SHORT); /* memory allocated, connections open */
    while (events.length < runs) {
        const [less, more] = [await of(SHORT) / SLOW.streams, await of(LONG) / SLOW.streams];
        const event = (more - less) / (LONG - SHORT);
        events.push(event);
        streams.push(less - SHORT * event);
    }
    return { event: figure(events), stream: figure(streams) };
};

const SEND_AFTER_MS = 400;
const SENT_MS = 2.5 * SEND_AFTER_MS;

const sentTo = (port) => [`OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:${port}`, `OTEL_BSP_SCHEDULE_DELAY=${SEND_AFTER_MS}`];

async function startReceiver() {
    const receiver = createServer((request, answer) => request.resume().on('end', () => answer.end()));
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    return receiver;
}

export async function observed({ runs }) {
    const receiver = await startReceiver();
    const env = sentTo(receiver.address().port);
    const seen = (what, ...options) => instructionsOf('antiphon', { what, options, env, by: apart(runs), afterMs: SENT_MS });
    const off = await seen('unobserved', '--metrics', 'off', '--traces', 'off');
    const counted = await seen('counted', '--metrics', 'auto', '--traces', 'off');
    const both = await seen('traced', '--metrics', 'auto', '--traces', 'otlp');
    receiver.close();
    receiver.closeAllConnections();
    return [
        { name: 'Neither counted nor traced, instructions', unit: '1/event', antiphon: off.event },
        { name: 'Counted', unit: '1/event', antiphon: counted.event },
        { name: 'Counted and traced', unit: '1/event', antiphon: both.event },
        { name: 'What both cost', unit: 'ratio', antiphon: figure([both.event.median / off.event.median]), target: { most: 1.03 } },
        { name: 'Besides its events a stream, neither, instructions', unit: '1/stream', antiphon: off.stream },
        { name: 'Besides its events a stream, counted', unit: '1/stream', antiphon: counted.stream },
        { name: 'Besides its events a stream, counted and traced', unit: '1/stream', antiphon: both.stream },
    ];
}

/* ---- streams that are stored and can be resumed ---- */

const stored = (what, resumable) => instructionsOf('antiphon', { what, more: { stored: true }, options: ['--resumable', resumable] });

/* Events of foreground streams are kept, or only those of background ones, of which there are none here. */
export async function resumed() {
    const [kept, unkept] = [await stored('resumable', 'stored'), await stored('not_resumable', 'background')];
    return [
        { name: 'Stored stream, instructions', unit: '1/event', antiphon: kept },
        { name: 'The same, its events not kept', unit: '1/event', antiphon: unkept },
        { name: 'What it costs to keep them', unit: 'ratio', antiphon: figure([kept.median / unkept.median]), target: { most: 1.15 } },
        { name: 'Store, bytes for a byte of text', unit: 'ratio', antiphon: await growth(), target: { most: 1.3 } },
    ];
}

const FILES = { streams: 8, requests: 40, rate: 0, burst: 64, stored: true };
const FEW = 2000;
const MANY = 22000;

/* Size of the file that holds so many long answers, with all that is kept of their streams. */
async function fileWith(plan) {
    const file = join(directory, `store.${plan.deltas}`);
    const mock = await startMock();
    const server = await startAntiphon(mock, [], ['--store', `sqlite:${file}`]);
    await ask(server, plan);
    await server.stop();
    await mock.stop();
    return statSync(file).size;
}

/* What the model says in so many deltas. */
async function textOf(deltas) {
    const mock = await startMock();
    const body = JSON.parse(bodyOf('chat', { ...FILES, deltas, whole: true }));
    const got = await fetch(`http://127.0.0.1:${mock.port}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    const { choices: [{ message: { content } }] } = await got.json();
    await mock.stop();
    return Buffer.byteLength(content);
}

/* Two lengths again: what a response takes besides its text and its events falls out. */
async function growth() {
    const bytes = await fileWith({ ...FILES, deltas: MANY }) - await fileWith({ ...FILES, deltas: FEW });
    const text = FILES.requests * (await textOf(MANY) - await textOf(FEW));
    return figure([bytes / text]);
}

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
    await instructionsPerByte('Marks of a body, instructions', 'marks'),
];
