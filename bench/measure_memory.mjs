/* measure_memory.mjs -- resident memory, idle and for each open stream, and the
 * size of the program.
 *
 * Every run has fresh processes: freed memory does not all return to the system.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { directory, output } from './processes.mjs';
import { askUndisturbed, figure, together } from './proxies.mjs';

const COUNTS = [
    { streams: 500, deltas: 60, rate: 20, burst: 1 },
    { streams: 2000, deltas: 30, rate: 5, burst: 1 },
];
const FILES_PER_STREAM = 2; /* the proxy's; one each in mock and load tool */

function openFilesAllowed() {
    return Number(readFileSync('/proc/self/limits', 'utf8').match(/^Max open files +(\d+)/m)[1]);
}

async function runsOf(plan, runs) {
    const found = { antiphon: [], nginx: [] };
    for (let run = 0; run < runs; run++) {
        await together(['antiphon', 'nginx'], async (servers) => {
            for (const server of servers)
                found[server.name].push(await askUndisturbed(server, plan));
        });
    }
    return found;
}

async function perStream(plan, runs) {
    const found = await runsOf(plan, Math.min(runs, 3));
    const figures = (of) => ({ antiphon: figure(found.antiphon.map(of)), nginx: figure(found.nginx.map(of)) });
    return {
        stream: {
            name: `Memory, ${plan.streams} open streams`, panel: 'Memory', unit: 'KB/stream', target: { most: 30 },
            ...figures((got) => (got.busy_rss_kb - got.idle_rss_kb) / plan.streams),
        },
        idle: {
            name: 'Memory, idle', unit: 'MB', target: { most: 12 }, ...figures((got) => got.idle_rss_kb / 1024),
        },
    };
}

async function programSize() {
    const stripped = join(directory, 'antiphon.stripped');
    await output('strip', '-o', stripped, 'build/antiphon');
    return { name: 'Program, stripped', unit: 'KB', antiphon: figure([statSync(stripped).size / 1024]) };
}

export async function memory({ runs }) {
    const rows = [];
    for (const plan of COUNTS) {
        if (openFilesAllowed() < plan.streams * FILES_PER_STREAM + 100) {
            console.error(`bench: ${plan.streams} streams need more open files than \`ulimit -n\` allows; left out`);
            continue;
        }
        const { stream, idle } = await perStream(plan, runs);
        rows.push(stream, ...(plan === COUNTS[0] ? [idle] : []));
    }
    return [...rows, await programSize()];
}
