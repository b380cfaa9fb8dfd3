/* group.mjs -- a gateway in front of several upstreams (OPERATIONS 4), as tests use it.
 *
 *     const group = await startGroup(t, rigs, { upstreams: { a: { max_concurrency: 4 }, b: {} }, settings: { eject_time: '300ms' } });
 *     const got = await group.ask('What is it?', { stream: true });     an exchange of client.mjs that is over
 *     await group.act('a', 'drain');                                    through the listener for operators
 *     group.change({ upstreams: { b: {} } }); await group.reload();     another file
 *
 * `upstreams` has what the file is to say of each beside its URL, by the names of the rigs (upstreams.mjs); without it
 * all rigs serve `m`. What tests take for granted about names stands first.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { checkStream } from './check.mjs';
import { ask, get, open } from './client.mjs';
import { startDaemon } from './daemon.mjs';
import { folder } from './folder.mjs';
import { restless, scrape } from './metrics.mjs';
import { startRigs, until } from './upstreams.mjs';

/* ---- names: a key, families of OPERATIONS 1.3, routes of OPERATIONS 6.4 */

export const FILE_KEY = 'upstreams_file';

export const FAMILY = {
    state: 'antiphon_upstream_state',
    attempts: 'antiphon_upstream_attempts_total',
    retries: 'antiphon_upstream_retries_total',
    denied: 'antiphon_upstream_retries_denied_total',
    ejections: 'antiphon_upstream_ejections_total',
    inFlight: 'antiphon_upstream_in_flight',
    limit: 'antiphon_upstream_limit',
    checks: 'antiphon_upstream_health_checks_total',
    routing: 'antiphon_routing_total',
    queue: 'antiphon_queue_length',
    waited: 'antiphon_queue_wait_seconds_count',
    rejected: 'antiphon_rejected_total',
    reloads: 'antiphon_config_reloads_total',
};

const ROUTE = {
    upstreams: '/admin/upstreams',
    act: (name, what) => `/admin/upstreams/${name}/${what}`,
    reload: '/admin/reload',
};

/* Keys as flags: { eject_time: '300ms' } is --eject-time 300ms. */
const flag = (key) => `--${key.replaceAll('_', '-')}`;
export const flags = (settings) => Object.entries(settings).flatMap(([key, value]) =>
    (typeof value === 'boolean' ? [flag(value ? key : `no_${key}`)] : [flag(key), `${value}`]));

/* What every test of groups has, unless it says otherwise: nothing of it waits for long. */
const USUAL = { early_error_window: '0s' };

class Group {
    constructor(rigs, file) {
        Object.assign(this, { rigs, file });
    }

    /* ---- its file */

    change({ upstreams, defaults, fallback, policies }) {
        const named = upstreams ?? Object.fromEntries(this.rigs.list.map(({ name }) => [name, {}]));
        const entries = Object.entries(named).map(([name, more]) => [name, { url: this.rigs[name]?.url, models: ['m'], ...more }]);
        this.write(JSON.stringify({ defaults, upstreams: Object.fromEntries(entries), default: fallback, policies }));
    }

    write(text) {
        writeFileSync(this.file, text, { mode: 0o600 });
    }

    reload() {
        return ask(this.admin, undefined, { path: ROUTE.reload });
    }

    /* ---- its life */

    async start({ settings = {}, args = [], env = {}, workers = 2 } = {}) {
        this.daemon = await startDaemon({ exact: true, env, args: ['--listen', '127.0.0.1:0,127.0.0.1:0+admin', '--workers', `${workers}`,
            ...flags({ [FILE_KEY]: this.file, ...USUAL, ...settings }), ...args] });
        const [, addresses] = await this.daemon.logged(/listening address=(\S+)/);
        this.admin = { origin: `http://127.0.0.1:${addresses.split(',')[1].match(/:(\d+)/)[1]}` };
        return this;
    }

    stop() {
        return this.daemon.stop();
    }

    /* ---- clients */

    open(question, { path, headers, ...body } = {}) {
        return open(this.daemon, { model: 'm', input: question, ...body }, { path, headers });
    }

    ask(question, how) {
        return this.open(question, how).done;
    }

    /* ---- operators */

    async upstreams() {
        const { data } = (await get(this.admin, ROUTE.upstreams)).json;
        return Object.fromEntries(data.map((one) => [one.name, one]));
    }

    async state(name) {
        return (await this.upstreams())[name]?.state;
    }

    become(name, ...states) {
        return until(() => this.state(name), (state) => states.includes(state), 30_000);
    }

    act(name, what) {
        return ask(this.admin, undefined, { path: ROUTE.act(name, what) });
    }

    /* Has it looked at until it is as wanted. */
    async check(name, state) {
        await until(async () => {
            assert.equal((await this.act(name, 'check')).status, 204);
            return this.state(name);
        }, (now) => now === state, 30_000);
    }

    async metric(family, labels) {
        return (await scrape(this.admin)).value(FAMILY[family] ?? family, labels);
    }

    /* The value of a family, as soon as it is that. */
    counted(family, labels, value) {
        return until(() => this.metric(family, labels), typeof value === 'function' ? value : (n) => n === value);
    }

    /* Waits until nothing runs and nothing waits. */
    async rest() {
        await until(async () => restless(await scrape(this.admin)), (gauges) => gauges.length === 0);
    }
}

/* The rigs see to their limits when the gateway has ended. */
export async function startGroup(t, rigs, { upstreams, defaults, fallback, policies, ...how } = {}) {
    const group = new Group(rigs, folder(t, 'upstreams.json'));
    group.change({ upstreams, defaults, fallback, policies });
    await group.start(how);
    t.after(async () => {
        await group.stop();
        await rigs.check();
    });
    return group;
}

/* The order of the file, so that tests know who is asked first. */
export const IN_ORDER = { m: { policy: 'first' } };

/* Two rigs, `a` and `b`, asked in this order, and one that is all there is; both watch that no turn is at two of them at
 * once. Nobody is ejected unless the test says so. Gives { group, rigs, a, b }. */
export async function startTwo(t, { settings, ...how } = {}, specs = { a: {}, b: {} }) {
    const rigs = await startRigs(t, specs, { turns: true });
    const group = await startGroup(t, rigs, { policies: IN_ORDER, ...how, settings: { eject_after: 0, ...settings } });
    return { group, rigs, ...rigs };
}

export const startOne = (t, how) => startTwo(t, how, { a: {} });

/* ---- what became of a turn */

const DELTA = /^event: response\.\w+(?:\.\w+)*\.delta$/m;

/* { outcome, code, text, hasDelta }: completed, failed (in a stream that had begun), refused (an HTTP error), or broken.
 * A stream is checked, and kept for the validator. */
export async function turnOf(exchange, captures, name = 'turn') {
    const got = await exchange.done.catch(() => exchange);
    const { text } = got;
    const hasDelta = DELTA.test(text);
    if (!got.ended)
        return { outcome: 'broken', code: String(got.error), hasDelta, got };
    if (got.status !== 200)
        return { outcome: 'refused', status: got.status, code: got.json.error?.code, hasDelta, got };
    const isStream = /^text\/event-stream/.test(got.headers['content-type']);
    captures?.keep(`${name}.${isStream ? 'sse' : 'json'}`, got.bytes);
    const response = isStream ? checkStream(text).response : got.json;
    return { outcome: response.status, code: response.error?.code, response, hasDelta, got, text: said(response) };
}

export const said = (response) => response.output.flatMap(({ content = [] }) => content).map(({ text = '' }) => text).join('');

/* Which rig said it, for answers of talk(). */
export const sayer = (response) => said(response).split(' ')[0];
