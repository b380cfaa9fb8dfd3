/* measure_routing.mjs -- what the choice of an upstream costs, in instructions of a whole request.
 *
 * Few requests and many; their difference is free of starting and ending. All upstreams of a file are the
 * one mock, under several names.
 */
import { instructionsOf } from './measure_counts.mjs';
import { upstreamsOf } from './processes.mjs';
import { ask, figure } from './proxies.mjs';

const QUICK = { streams: 4, deltas: 3, rate: 0, burst: 3 };
const LARGE_BYTES = 60 * 1024;
const FEW = 40;
const MANY = 240;

async function perRequest(server, plan, count) {
    await ask(server, { ...plan, requests: FEW }); /* memory allocated, connections open */
    const less = await count({ ...plan, requests: FEW });
    const more = await count({ ...plan, requests: MANY });
    return figure([(more - less) / (MANY - FEW)]);
}

/* Over n upstreams of a file; 0: over one without a file. */
const over = (n, what, more = {}) => instructionsOf('antiphon', {
    what: `${what}_${n}`, more: { ...QUICK, ...more }, by: perRequest, reach: n === 0 ? undefined : (mock) => upstreamsOf(mock, n),
});

const ratio = (a, b) => figure([a.median / b.median]);

export async function routing() {
    const [alone, one, three] = [await over(0, 'short'), await over(1, 'short'), await over(3, 'short')];
    const large = { bytes: LARGE_BYTES };
    const [largeAlone, largeOfThree] = [await over(0, 'large', large), await over(3, 'large', large)];
    return [
        { name: 'Short request, instructions', unit: '1/request', antiphon: alone },
        { name: 'The same, one upstream in a file', unit: 'ratio', antiphon: ratio(one, alone), target: { most: 1.02 } },
        { name: 'The same, three with affinity', unit: 'ratio', antiphon: ratio(three, alone), target: { most: 1.02 } },
        { name: '64 KiB request, instructions', unit: '1/request', antiphon: largeAlone },
        { name: 'The same, three with affinity', unit: 'ratio', antiphon: ratio(largeOfThree, largeAlone) },
    ];
}
