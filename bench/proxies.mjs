/* proxies.mjs -- the two that are compared, and how a run of one is made. */
import { bodyOf } from './bodies.mjs';
import { load, startAntiphon, startMock, startNginx } from './processes.mjs';

export const PROXIES = {
    antiphon: { start: startAntiphon, api: 'responses' },
    nginx: { start: startNginx, api: 'chat' },
    mock: { api: 'chat' }, /* asked directly */
};

/* A plan is what one run does: { streams, requests, deltas, rate, burst, bytes, whole }. */
export function ask(server, plan) {
    const { api } = PROXIES[server.name];
    return load(server, { ...plan, kind: plan.whole ? `${api}-whole` : api, body: bodyOf(api, plan) });
}

/* On a busy machine some streams start so late that the others are nearly over, and
 * little or nothing lies between the marks. Such a run is made again. */
export async function askUndisturbed(server, plan, isEnough = () => true) {
    for (let tries = 0; tries < 5; tries++) {
        const got = await ask(server, plan);
        if (got !== null && isEnough(got))
            return got;
        console.error(`bench: ${server.name} was disturbed; once more`);
    }
    throw new Error('the machine is too busy for this; --realtime may help');
}

/* A mock upstream and these proxies in front of it, while `work` is done. */
export async function together(names, work) {
    const mock = await startMock();
    const servers = [];
    for (const name of names)
        servers.push(await PROXIES[name].start(mock));
    const result = await work(servers, mock);
    for (const server of [...servers, mock])
        await server.stop();
    return result;
}

/* Some values as one figure. */
export function figure(values) {
    const sorted = [...values].sort((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)], min: sorted[0], max: sorted.at(-1) };
}
