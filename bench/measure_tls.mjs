/* measure_tls.mjs -- what TLS costs a stream and an idle connection.
 *
 * One gateway is asked at its two addresses in turn, so that what is compared ran at the same
 * time. Idle connections have had one answer; those without TLS take what they take in turn.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { startAntiphonTls, startMock } from './processes.mjs';
import { askUndisturbed, figure } from './proxies.mjs';

const PACED = { streams: 200, deltas: 120, rate: 40, burst: 1 };
const IDLE = 500;

const rssKb = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

async function idle({ port, tls }) {
    const socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
    await once(socket, tls ? 'secureConnect' : 'connect');
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    return socket;
}

/* Kilobytes that each of many idle connections adds. */
async function perIdle(server) {
    const before = rssKb(server.pid), sockets = [];
    for (let i = 0; i < IDLE; i++)
        sockets.push(await idle(server));
    const kb = (rssKb(server.pid) - before) / IDLE;
    sockets.forEach((socket) => socket.destroy());
    await pause(500);
    return kb;
}

async function cpuOf(server) {
    const got = await askUndisturbed(server, PACED, (g) => g.deltas > PACED.streams * PACED.deltas / 4);
    return got.cpu_ns / 1000 / got.deltas;
}

export async function tls({ runs }) {
    const found = { plain: [], secure: [], times: [], idle: [] };
    const mock = await startMock();
    for (let run = 0; run < runs; run++) {
        const { plain, secure } = await startAntiphonTls(mock);
        found.idle.push(await perIdle(secure));
        await cpuOf(plain);
        await cpuOf(secure);
        found.plain.push(await cpuOf(plain));
        found.secure.push(await cpuOf(secure));
        found.times.push(found.secure.at(-1) / found.plain.at(-1));
        await plain.stop();
    }
    await mock.stop();
    return [
        { name: '200 streams, 40 events/s each', unit: 'us/event', antiphon: figure(found.plain) },
        { name: 'The same over TLS', unit: 'us/event', antiphon: figure(found.secure) },
        { name: 'TLS, times the CPU time without', unit: '', antiphon: figure(found.times), target: { most: 1.6 } },
        { name: 'Memory, idle connection with TLS', unit: 'KB', antiphon: figure(found.idle), target: { most: 40 } },
    ];
}
