/* metrics.mjs -- a scrape as Prometheus reads it, and strict about what it is made of.
 *
 *     const page = await scrape(daemon);
 *     page.value('antiphon_requests_total', { route: '/v1/responses' });   the sum of all series that fit
 *     page.families.get('antiphon_requests_total')                         { type, help, unit, samples }
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { get } from './client.mjs';
import { ROOT } from './daemon.mjs';
import { patience } from './patience.mjs';

export const OPEN_METRICS = 'application/openmetrics-text';

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*?)\})? (-?[0-9.]+|\+Inf)(?: # (\{trace_id="[0-9a-f]{32}"\} [0-9.]+))?$/;
const LABEL = /([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

function labelsOf(text, line) {
    const labels = {};
    LABEL.lastIndex = 0;
    while (LABEL.lastIndex < text.length) {
        const found = LABEL.exec(text);
        assert.ok(found, `labels that cannot be read: ${line}`);
        assert.notEqual(found[2], '', `a label without a value: ${line}`);
        assert.ok(!(found[1] in labels), `a label twice: ${line}`);
        labels[found[1]] = found[2].replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
    }
    return labels;
}

class Page {
    families = new Map();

    constructor(text, isOpen) {
        let family;
        const lines = text.split('\n');
        assert.equal(lines.pop(), '', 'the last line ends');
        if (isOpen)
            assert.equal(lines.pop(), '# EOF');
        for (const line of lines) {
            const [, word, name, rest] = line.match(/^# (HELP|TYPE|UNIT) (\S+) (.*)$/) ?? [];
            if (word === 'HELP') {
                assert.ok(!this.families.has(name), `${name} is there twice`);
                family = { name, help: rest, samples: [] };
                this.families.set(name, family);
            } else if (word !== undefined) {
                assert.equal(name, family.name, line);
                family[word.toLowerCase()] = rest;
            } else {
                this.#addSample(family, line, isOpen);
            }
        }
    }

    #addSample(family, line, isOpen) {
        const [, name, labels = '', value, exemplar] = line.match(SAMPLE) ?? assert.fail(`no sample: ${line}`);
        const suffix = name.slice(family.name.length);
        const suffixes = { counter: [isOpen ? '_total' : ''], gauge: [''], unknown: [''], histogram: ['_bucket', '_sum', '_count'] };
        assert.ok(name.startsWith(family.name) && suffixes[family.type].includes(suffix), `not of ${family.name}: ${line}`);
        family.samples.push({ name, labels: labelsOf(labels, line), value: Number(value), exemplar });
    }

    /* All samples of the name whose labels have at least these. */
    samples(name, labels = {}) {
        return [...this.families.values()].flatMap((family) => (name.startsWith(family.name) ? family.samples : []))
            .filter((sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value));
    }

    value(name, labels) {
        return this.samples(name, labels).reduce((sum, sample) => sum + sample.value, 0);
    }

    /* Histograms whose buckets do not add up, for assert.deepEqual([]). */
    get crookedHistograms() {
        const crooked = [];
        for (const { name, type, samples } of this.families.values()) {
            let last;
            for (const sample of type === 'histogram' ? samples : []) {
                if (sample.name.endsWith('_bucket')) {
                    if (last?.name === sample.name && last.labels.le !== '+Inf' && last.value > sample.value)
                        crooked.push(`${name} ${JSON.stringify(sample.labels)}`);
                    last = sample;
                } else if (sample.name.endsWith('_count') && (last.labels.le !== '+Inf' || last.value !== sample.value)) {
                    crooked.push(`${name} ${JSON.stringify(sample.labels)}`);
                }
            }
        }
        return crooked;
    }
}

export const readPage = (text, isOpen = false) => new Page(text, isOpen);

export async function scrape(daemon, { accept, headers = {}, path = '/metrics' } = {}) {
    const answer = await get(daemon, path, { headers: { ...(accept && { accept }), ...headers } });
    assert.equal(answer.status, 200, answer.text);
    return new Page(answer.text, accept === OPEN_METRICS);
}

/* Scrapes until it holds: what is counted at the very end of something may come a moment after its answer. */
export async function scrapeUntil(daemon, holds, ms = 5000) {
    for (const deadline = performance.now() + patience(ms); ;) {
        const page = await scrape(daemon);
        if (holds(page))
            return page;
        assert.ok(performance.now() < deadline, `never seen: ${holds}`);
        await new Promise((done) => setTimeout(done, 20));
    }
}

/* The families of src/metrics/metric.def by name, as { type, labels }. */
export function declaredFamilies() {
    const def = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
    const rows = [...def.matchAll(/^\| `([a-z0-9_]+)` \| (counter|gauge|histogram)[^|]*\| ([^|]*) \|/gm)];
    assert.ok(rows.length > 60);
    return new Map(rows.map(([, name, type, labels]) => [name, { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label) }]));
}

/* Gauges of what is running: name and labels of those that do not rest. A scrape is a request itself. */
export function restless(page) {
    const running = ['antiphon_upstream_in_flight', 'antiphon_queue_length', 'antiphon_store_queue_length',
        'antiphon_open_streams', 'antiphon_open_websockets', 'antiphon_background_responses', 'antiphon_paused_upstreams'];
    const samples = running.flatMap((name) => page.samples(name).filter(({ value }) => value !== 0));
    return [...samples, ...page.samples('http_server_active_requests').filter(({ labels, value }) =>
        value !== (labels.http_request_method === 'GET' && labels.url_scheme === 'http' ? 1 : 0)),
    ...page.samples('antiphon_upstream_connections', { state: 'active' }).filter(({ value }) => value !== 0)]
        .map(({ name, labels, value }) => `${name} ${JSON.stringify(labels)} ${value}`);
}
