/* measure_time.mjs -- what a user waits for: the first delta, and a fresh start. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodyOf } from './bodies.mjs';
import { commandOf, directory, freePort, output, PROGRAMS, startMock, urgent } from './processes.mjs';
import { ask, figure, PROXIES, together } from './proxies.mjs';

/* --- first delta: what a proxy adds to the time of the mock upstream ------------ */

const FIRST = [
    { name: '1 stream', plan: { streams: 1, requests: 500, deltas: 2, rate: 1000, burst: 1 } },
    { name: '64 streams', plan: { streams: 64, requests: 640, deltas: 10, rate: 40, burst: 1 } },
];

async function firstDelta({ name, plan }, runs) {
    const added = { antiphon: { p50: [], p99: [] }, nginx: { p50: [], p99: [] } };
    await together(['antiphon', 'nginx'], async (servers, mock) => {
        for (let run = 0; run < runs; run++) {
            const direct = await ask(mock, plan);
            for (const server of servers) {
                const got = await ask(server, plan);
                for (const p of ['p50', 'p99'])
                    added[server.name][p].push((got[`first_${p}_ns`] - direct[`first_${p}_ns`]) / 1000);
            }
        }
    });
    return ['p50', 'p99'].map((p) => ({
        name: `Added until first delta, ${name}, ${p}`, unit: 'us',
        antiphon: figure(added.antiphon[p]), nginx: figure(added.nginx[p]),
    }));
}

export async function first({ runs }) {
    const rows = [];
    for (const one of FIRST)
        rows.push(...await firstDelta(one, runs));
    return rows;
}

/* --- a fresh start: from exec to the end of the first answer -------------------- */

const health = () => 'GET /health HTTP/1.1\r\nHost: bench\r\n\r\n';

function question(api) {
    const body = bodyOf(api, { deltas: 3, burst: 3 });
    const path = api === 'responses' ? 'responses' : 'chat/completions';
    return `POST /v1/${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n`
        + `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

async function startOnce(name, mock, request) {
    const port = await freePort();
    const file = join(directory, 'request');
    writeFileSync(file, request(PROXIES[name].api));
    return await output(...urgent([`${PROGRAMS}/startup`, port, file, ...commandOf[name](port, mock)])) / 1e6;
}

async function startTimes(name, request, runs) {
    const mock = await startMock();
    const found = [];
    for (let run = 0; run <= 2 * runs; run++)
        found.push(await startOnce(name, mock, request));
    await mock.stop();
    return figure(found.slice(1)); /* the first one reads the program from disk */
}

export const startup = async ({ runs }) => [
    {
        name: 'Start to first answer, /health', unit: 'ms', target: { most: 50 },
        antiphon: await startTimes('antiphon', health, runs),
    },
    {
        name: 'Start to first answer, a stream', unit: 'ms', target: { most: 50 },
        antiphon: await startTimes('antiphon', question, runs), nginx: await startTimes('nginx', question, runs),
    },
];
