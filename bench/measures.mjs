/* measures.mjs -- everything that is measured, by the name bench/run takes.
 *
 * A measure is told { runs } and returns rows { name, unit, antiphon, nginx,
 * target, panel }: a figure is { median, min, max }, a panel the part of the plot
 * the row is drawn in.
 */
import { instructions, observed, parsers, resumed, syscalls } from './measure_counts.mjs';
import { cpu } from './measure_cpu.mjs';
import { routing } from './measure_routing.mjs';
import { memory } from './measure_memory.mjs';
import { tls } from './measure_tls.mjs';
import { first, startup } from './measure_time.mjs';

const event = { panel: 'CPU time per event', unit: 'us/event', per: 'deltas' };
const request = { panel: 'CPU time per request', unit: 'us/request', per: 'requests' };

export const measures = {
    paced64: cpu({
        ...event, name: '64 streams, 40 events/s each',
        plan: { streams: 64, deltas: 120, rate: 40, burst: 1 },
    }),
    paced500: cpu({
        ...event, name: '500 streams, 40 events/s each', target: { most: 1.1, ratio: true },
        plan: { streams: 500, deltas: 120, rate: 40, burst: 1 },
    }),
    burst: cpu({
        ...event, name: '500 streams, 40 events/s, 10 to a write',
        plan: { streams: 500, deltas: 120, rate: 40, burst: 10 },
    }),
    flat: cpu({
        ...event, name: '64 streams, as fast as they go',
        plan: { streams: 64, requests: 384, deltas: 500, rate: 0, burst: 64 },
    }),
    instructions,
    routing,
    observed,
    syscalls,
    resumed,
    parsers,
    short: cpu({
        ...request, name: 'Short request, stream of 3 deltas',
        plan: { streams: 8, requests: 4000, deltas: 3, rate: 0, burst: 3 },
    }),
    whole: cpu({
        ...request, name: 'Short request, no stream',
        plan: { streams: 8, requests: 4000, deltas: 20, whole: true },
    }),
    stored: cpu({
        ...request, name: 'Short request, no stream, stored',
        plan: { streams: 8, requests: 4000, deltas: 20, whole: true, stored: true },
    }),
    kb64: cpu({
        ...request, name: '64 KiB request, stream of 3 deltas',
        plan: { streams: 8, requests: 1500, deltas: 3, rate: 0, burst: 3, bytes: 60 * 1024 },
    }),
    memory,
    tls,
    first,
    startup,
};
