/* prometheus.test.mjs -- Prometheus itself scrapes a gateway at work, and answers what the dashboard asks;
 * promtool has nothing to say against the page and the alerts, which use only families that there are. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ask, get, open } from '../lib/client.mjs';
import { pair, ROOT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { declaredFamilies, OPEN_METRICS } from '../lib/metrics.mjs';
import { patience } from '../lib/patience.mjs';
import { chunk, failure, frames, HANG, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const NO_PROMETHEUS = spawnSync('promtool', ['--version']).status !== 0 && 'no promtool: install the package prometheus';
const DASHBOARD = JSON.parse(readFileSync(join(ROOT, 'packaging/grafana/antiphon.json'), 'utf8'));
const RULES = join(ROOT, 'packaging/prometheus/antiphon.rules.yml');

const queries = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const alerts = [...readFileSync(RULES, 'utf8').matchAll(/^ +expr: (.*)$/gm)].map(([, expr]) => expr);

/* Names of series in an expression; what stands in quotes or is a word of the language is none. */
const namesIn = (expr) => [...expr.replace(/"[^"]*"/g, '').matchAll(/\b[a-z][a-z0-9]*_[a-z0-9_]+\b/g)].map(([name]) => name)
    .filter((name) => !/^(histogram_quantile|gen_ai_request_model|gen_ai_tool_name)$/.test(name));

const promtool = (args, input) => spawnSync('promtool', args, { input, encoding: 'utf8', timeout: patience(20_000) });

/* Text, tools of the client, failures, a client that leaves, relays, a stored response. */
async function load(up, daemon) {
    const said = stream(frames(chunk({ content: 'a' }), chunk({ content: 'b' }), chunk({ content: 'c' }, 'stop'), usageChunk(30, 3), '[DONE]'));
    for (let i = 0; i < 5; i++) {
        up.next(said);
        await ask(daemon, { input: 'Hi', stream: true });
    }
    up.next(failure(500, 'no'), failure(429, 'no'));
    await ask(daemon, { input: 'Hi' });
    await ask(daemon, { input: 'Hi' });
    up.next(stream([...frames(chunk({ content: 'a' })), HANG]));
    const left = open(daemon, { input: 'Hi', stream: true });
    await left.until(() => left.text.includes('output_text.delta'));
    left.request.destroy();
    up.always(textStream('Hi'));
    await ask(daemon, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions' });
    await ask(daemon, { input: 7 });
    await get(daemon, '/nowhere');
}

async function startPrometheus(t, target) {
    const config = folder(t, 'prometheus.yml');
    const port = await freePort();
    writeFileSync(config, `global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [ ${JSON.stringify(RULES)} ]\nscrape_configs:\n  - job_name: antiphon\n    static_configs: [ { targets: [ "${target}" ] } ]\n`);
    mkdirSync(`${config}.data`);
    const child = spawn('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${config}.data`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'], { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise((done) => child.on('close', done));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (log += text));
    t.after(async () => {
        child.kill('SIGTERM');
        await ended;
    });
    const ask = async (path) => (await get({ origin: `http://127.0.0.1:${port}` }, `/api/v1/${path}`)).json.data;
    return { ask, query: async (expr) => (await ask(`query?query=${encodeURIComponent(expr)}`)).result, get log() { return log; } };
}

async function until(what, holds, ms = 30_000) {
    for (const deadline = performance.now() + patience(ms); ;) {
        const found = await Promise.resolve().then(holds).catch(() => undefined);
        if (found)
            return found;
        assert.ok(performance.now() < deadline, `never: ${what}`);
        await new Promise((done) => setTimeout(done, 100));
    }
}

describe('dashboard and alerts', () => {
    test('use only families that there are', () => {
        const known = new Set([...declaredFamilies()].flatMap(([name, { type }]) =>
            (type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name])));
        assert.ok(queries.length > 30 && alerts.length >= 15);
        for (const expr of [...queries, ...alerts]) {
            for (const name of namesIn(expr.replaceAll('$__rate_interval', '5m')))
                assert.ok(known.has(name), `${name} in ${expr}`);
        }
    });

    test('are right by promtool', { skip: NO_PROMETHEUS }, () => {
        const { status, stdout, stderr } = promtool(['check', 'rules', RULES]);
        assert.equal(status, 0, stdout + stderr);
    });
});

describe('prometheus', { skip: NO_PROMETHEUS }, () => {
    test('promtool finds nothing wrong with the page of a gateway at work', async (t) => {
        const { up, daemon } = await pair(t);
        await load(up, daemon);
        const { status, stdout, stderr } = promtool(['check', 'metrics'], (await get(daemon, '/metrics')).text);
        assert.deepEqual({ status, said: stdout + stderr }, { status: 0, said: '' });
    });

    test('it scrapes OpenMetrics, and the queries of the dashboard have data', async (t) => {
        const { up, daemon } = await pair(t);
        assert.equal((await get(daemon, '/metrics', { headers: { accept: OPEN_METRICS } })).status, 200);
        await load(up, daemon);
        const prometheus = await startPrometheus(t, `127.0.0.1:${daemon.port}`);
        await until('up', async () => (await prometheus.query('up'))[0]?.value[1] === '1');
        await load(up, daemon);
        const range = (expr) => expr.replaceAll('$__rate_interval', '1m').replaceAll('=~"$instance"', '=~".*"');
        const empty = /antiphon_(tool_calls|sandbox|prefix|mcp)|gen_ai_execute_tool/; /* nothing of it happens here */
        for (const expr of queries.filter((query) => !empty.test(query)))
            await until(`data for ${expr}`, async () => (await prometheus.query(range(expr))).length > 0);
        const { activeTargets: [target] } = await prometheus.ask('targets');
        assert.equal(target.lastError, '');
        const rules = (await prometheus.ask('rules')).groups.flatMap((group) => group.rules);
        await until('rules', async () => (await prometheus.ask('rules')).groups.every((group) => group.rules.every(({ health }) => health === 'ok')));
        assert.equal(rules.length, alerts.length);
    });
});
