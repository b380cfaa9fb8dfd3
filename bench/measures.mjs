/* measures.mjs -- what is measured, each as rows of a table.
 *
 * A row is { name, unit, antiphon, nginx, target }, a figure { median, min, max }.
 */
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { shortBody } from './bodies.mjs';
import { directory, during, load, output, startAntiphon, startMock, startNginx } from './processes.mjs';

export const RESULTS = 'bench/results';

const PROXIES = {
    antiphon: { start: startAntiphon, api: 'responses' },
    nginx: { start: startNginx, api: 'chat' },
};

export function figure(values) {
    const sorted = [...values].sort((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)], min: sorted[0], max: sorted.at(-1) };
}

const ask = (server, plan) =>
    load(server, { kind: PROXIES[server.name].api, body: shortBody(PROXIES[server.name].api, plan), ...plan });

/* On a busy machine some streams start so late that the others are nearly over,
 * and hardly anything lies between the marks. Such a run is made again. */
async function askUndisturbed(server, plan, tries = 4) {
    const got = await ask(server, plan);
    const all = (plan.requests ?? plan.streams) * plan.deltas;
    if (got.deltas >= all / 3)
        return got;
    if (tries === 1)
        throw new Error('the machine is too busy for this; --realtime may help');
    console.error(`bench: ${server.name} was disturbed; once more`);
    return askUndisturbed(server, plan, tries - 1);
}

/* --- CPU time ------------------------------------------------------------------ */

/* Runs alternate between the proxies, so that what else happens on the machine
 * meets both. */
async function cpuPer(name, unit, { plan, per, runs, target }) {
    const mock = await startMock();
    const servers = [await startAntiphon(mock), await startNginx(mock)];
    const found = { antiphon: [], nginx: [] };
    for (let run = 0; run <= runs; run++) {
        for (const server of servers) {
            const got = await askUndisturbed(server, plan);
            if (run > 0) /* the first one warms up */
                found[server.name].push(got.cpu_ns / 1000 / got[per]);
        }
    }
    for (const server of [...servers, mock])
        await server.stop();
    return [{ name, unit, antiphon: figure(found.antiphon), nginx: figure(found.nginx), target }];
}

/* --- counts ---------------------------------------------------------------------- */

/* Few streams, slow: every event is read and written alone, also under a profiler.
 * Two lengths of stream; their difference is free of starting and ending. */
const SLOW = { streams: 16, rate: 20, burst: 1 };
const SHORT = 20;
const LONG = 120;
const perEvent = (less, more) => (more - less) / (SLOW.streams * (LONG - SHORT));

async function instructions(name) {
    const file = join(directory, `callgrind.${name}`);
    const mock = await startMock();
    const server = await PROXIES[name].start(mock, ['valgrind', '--tool=callgrind', `--callgrind-out-file=${file}`]);
    const control = (what) => output('callgrind_control', what, String(server.child.pid));
    const count = async (deltas, dump) => {
        await ask(server, { ...SLOW, deltas });
        await control('--dump');
        return Number(readFileSync(`${file}.${dump}`, 'utf8').match(/^summary: (\d+)/m)[1]);
    };
    await ask(server, { ...SLOW, deltas: SHORT });
    await control('--zero');
    const less = await count(SHORT, 1);
    const more = await count(LONG, 2);
    mkdirSync(RESULTS, { recursive: true });
    renameSync(`${file}.2`, join(RESULTS, `callgrind.${name}.out`));
    await server.stop();
    await mock.stop();
    return figure([perEvent(less, more)]);
}

export const measures = {
    paced500: ({ quick }) => cpuPer('500 streams, 40 events/s each', 'us/event', {
        plan: { streams: 500, deltas: 160, rate: 40, burst: 1 }, per: 'deltas', runs: quick ? 3 : 5,
        target: { most: 1.1, ratio: true },
    }),
    instructions: async () => [{
        name: 'Instructions', unit: '1/event', target: { most: 6000 },
        antiphon: await instructions('antiphon'), nginx: await instructions('nginx'),
    }],
};
