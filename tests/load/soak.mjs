#!/usr/bin/env node
/* soak.mjs -- does the gateway grow when it runs for a while?
 *
 *     tests/load/soak.mjs [MINUTES]     5 by default; the gateway is $ANTIPHON_BIN or build/antiphon
 *
 * Mixed traffic from 16 clients without a pause: streams, whole answers, large
 * requests, clients that leave in the middle, upstreams that fail, break off or
 * talk nonsense, requests that are refused. Every 30 s a line tells how much
 * memory the gateway has and how many descriptors. After the warm-up of the
 * first line neither may grow: more than a tenth and 4 MB on top, or any answer
 * that is not as it should be, ends with status 1. For the hand, not for `make
 * check`: it takes its time. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { checkStream, readingOf } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { CLOSE, RESET, chunk, failure, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const MINUTES = Number(process.argv[2] ?? 5);
const CLIENTS = 16;
const EVERY_MS = 30_000;
const MB = 1 << 20;
const TEXT = 'All is well that ends well. '.repeat(20);
const LARGE = 'x'.repeat(2 * MB);
const REQUEST = { model: 'soak', input: 'Hi', stream: true };

const beginning = frames(...Array(10).fill(chunk({ content: 'word ' })));

/* What the upstream says is told by the input. */
const ANSWERS = {
    well: textStream(TEXT),
    slowly: stream([...beginning.flatMap((f) => [f, 20]), ...frames(chunk({}, 'stop'), '[DONE]')]),
    refuse: failure(500, 'no'),
    reset: { before: [RESET] },
    break: stream([...beginning, CLOSE]),
    nonsense: stream(['data: {"choices": nonsense\n\n', ...beginning, 'data: [DONE]\n\n']),
};

const answerOf = ({ body }) => ANSWERS[body?.messages?.at(-1)?.content.split(' ')[0]] ?? ANSWERS.well;

const streamed = async (daemon, input) => checkStream((await ask(daemon, { ...REQUEST, input })).text).response;
const status = async (daemon, body) => (await ask(daemon, body)).status;

async function leave(daemon) {
    const call = open(daemon, { ...REQUEST, input: 'slowly' });
    await call.until('"delta"');
    call.destroy();
}

const TRAFFIC = [
    async (daemon) => assert.equal(readingOf(await streamed(daemon, 'well')).text, TEXT),
    async (daemon) => assert.equal((await ask(daemon, { ...REQUEST, stream: false })).json.status, 'completed'),
    async (daemon) => assert.equal((await streamed(daemon, `well ${LARGE}`)).status, 'completed'),
    leave,
    async (daemon) => assert.equal((await streamed(daemon, 'slowly')).status, 'completed'),
    async (daemon) => assert.equal(await status(daemon, { ...REQUEST, input: 'refuse' }), 502),
    async (daemon) => assert.equal(await status(daemon, { ...REQUEST, input: 'reset' }), 502),
    async (daemon) => assert.equal((await streamed(daemon, 'break')).status, 'failed'),
    async (daemon) => assert.ok(await streamed(daemon, 'nonsense')),
    async (daemon) => assert.equal(await status(daemon, '{"model": '), 400),
];

function state({ child }) {
    const kb = Number(readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+) kB/)[1]);
    return { rss: kb * 1024, files: readdirSync(`/proc/${child.pid}/fd`).length };
}

const up = await startUpstream();
const daemon = await startDaemon({ upstream: up.url });
up.always(answerOf);

let done = 0, over = false;

async function client(first) {
    for (let i = first; !over; i++, done++)
        await TRAFFIC[i % TRAFFIC.length](daemon);
}

const clients = Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i)));
const pause = (ms) => Promise.race([clients, new Promise((wake) => setTimeout(wake, ms))]);

function tell(seconds) {
    const { rss, files } = state(daemon);
    console.log(`${String(seconds).padStart(5)} s  ${(rss / MB).toFixed(1).padStart(6)} MB  ${files} descriptors  ${done} exchanges`);
    up.requests = [];
    daemon.log = '';
    return { rss, files };
}

const seen = [];
tell(0);
for (let seconds = EVERY_MS / 1000; seconds <= MINUTES * 60; seconds += EVERY_MS / 1000) {
    await pause(EVERY_MS);
    seen.push(tell(seconds));
}
over = true;
await clients;
tell(seen.length * EVERY_MS / 1000);
await daemon.stop();
await up.close();

const first = seen[0], last = seen.at(-1);
if (last.rss > first.rss * 1.1 + 4 * MB || last.files > first.files + 2 * CLIENTS) {
    console.error('it has grown');
    process.exit(1);
}
