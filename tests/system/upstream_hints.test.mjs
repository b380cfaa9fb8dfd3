/* upstream_hints.test.mjs -- what each of several upstreams is told and asked beside the request (OPERATIONS 2.2, 4.1,
 * 4.5), and what the log tells of the choice (OPERATIONS 3).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import test, { describe } from 'node:test';
import { Authority } from '../lib/certs.mjs';
import { Captures, checkError } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { conversations, filler, turn } from '../lib/conversations.mjs';
import { IN_ORDER, startGroup, turnOf } from '../lib/group.mjs';
import { startReceiver } from '../lib/otlp.mjs';
import { FAULTS } from '../lib/upstream_faults.mjs';
import { heldAfterFirst, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const CONTEXT = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'rojo=1' };
const AT_ONCE = { early_error_window: '5s' };

const completed = async (exchange) => assert.equal((await turnOf(exchange, captures, 'hint')).outcome, 'completed');

/* The fields of the n-th line `turn`. */
async function line(group, n = 0) {
    const lines = await until(() => group.daemon.log.split('\n').filter((one) => / turn /.test(one)), (all) => all.length > n);
    return Object.fromEntries([...lines[n].matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
}

describe('traces', { concurrency: 4 }, () => {
    const contextOf = ({ headers }) => [headers.traceparent, headers.tracestate].filter((one) => one !== undefined);

    test('an upstream with trace false gets no context, neither the gateway\'s nor a client\'s', async (t) => {
        const receiver = await startReceiver(t);
        const rigs = await startRigs(t, { seen: { models: ['seen'] }, blind: { models: ['blind'] } });
        const group = await startGroup(t, rigs, { upstreams: { seen: { models: ['seen'] }, blind: { models: ['blind'], trace: false } }, env: receiver.env() });
        const chat = (model) => ask(group.daemon, { model, messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions', headers: CONTEXT });
        for (const model of ['seen', 'blind']) {
            await completed(group.open('Hi', { model, headers: CONTEXT }));
            assert.equal((await chat(model)).status, 200);
        }
        assert.deepEqual(rigs.blind.rounds.map(contextOf), [[], []]);
        for (const round of rigs.seen.rounds)
            assert.match(contextOf(round)[0], /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
    });

    test('without traces a client\'s context passes through, but not to such an upstream', async (t) => {
        const rigs = await startRigs(t, { seen: { models: ['seen'] }, blind: { models: ['blind'] } });
        const group = await startGroup(t, rigs, { upstreams: { seen: { models: ['seen'] }, blind: { models: ['blind'], trace: false } } });
        for (const model of ['seen', 'blind'])
            assert.equal((await ask(group.daemon, { model, messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions', headers: CONTEXT })).status, 200);
        assert.deepEqual(rigs.seen.rounds.map(contextOf), [Object.values(CONTEXT)]);
        assert.deepEqual(rigs.blind.rounds.map(contextOf), [[]]);
    });

    test('provider, upstream and routing of a round are those of whoever was asked last', async (t) => {
        const receiver = await startReceiver(t);
        const rigs = await startRigs(t, { a: {}, b: {}, c: { models: ['other'] } });
        const group = await startGroup(t, rigs, {
            upstreams: { a: { provider: 'acme' }, b: { provider: 'plenty' }, c: { models: ['other'], provider: 'acme', kind: 'openai' } },
            policies: IN_ORDER, env: receiver.env(),
        });
        rigs.a.behave(FAULTS.badGateway(), 1);
        await completed(group.open('Hi'));
        await completed(group.open('Hi', { model: 'other' }));
        const told = async (n) => {
            const { spans } = await receiver.trace(undefined, n);
            const { attributes } = spans.find(({ name }) => name.startsWith('chat '));
            return ['gen_ai.provider.name', 'antiphon.upstream', 'antiphon.routing', 'server.port'].map((key) => attributes[key]);
        };
        assert.deepEqual(await told(0), ['plenty', 'b', 'failover', Number(new URL(rigs.b.url).port)]);
        assert.deepEqual(await told(1), ['openai', 'c', 'only', Number(new URL(rigs.c.url).port)]);
        const family = 'gen_ai_client_operation_duration_seconds_count';
        assert.equal(await group.metric(family, { gen_ai_provider_name: 'acme' }), 1);
        assert.equal(await group.metric(family, { gen_ai_provider_name: 'plenty' }), 1);
        assert.equal(await group.metric(family, { gen_ai_provider_name: 'openai' }), 1);
    });
});

describe('certificates', { concurrency: 4 }, () => {
    /* The rig behind TLS that asks who calls: { url, callers }. */
    async function behindTls(t, authority, rig) {
        const { cert, key } = authority.make('server');
        const callers = [], sockets = new Set();
        const server = tls.createServer({ cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(authority.ca), requestCert: true, rejectUnauthorized: true }, (socket) => {
            callers.push(socket.getPeerCertificate().subject.CN);
            const { hostname, port } = new URL(rig.url);
            const inner = net.connect(Number(port), hostname);
            for (const one of [socket, inner]) {
                sockets.add(one);
                one.on('error', () => {});
                one.on('close', () => [socket, inner].forEach((either) => either.destroy()));
            }
            socket.pipe(inner).pipe(socket);
        });
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        t.after(() => {
            server.close();
            sockets.forEach((socket) => socket.destroy());
        });
        return { url: `https://localhost:${server.address().port}/v1`, callers };
    }

    test('each upstream is shown its own, by turns, by checks and by who asks what it is', async (t) => {
        const authority = new Authority(t), rigs = await startRigs(t, { a: { kind: 'vllm', models: ['listed'] }, b: {} });
        const [a, b] = [await behindTls(t, authority, rigs.a), await behindTls(t, authority, rigs.b)];
        const shows = (name) => {
            const { cert, key } = authority.make(name);
            return { client_cert: cert, client_key: key };
        };
        const group = await startGroup(t, rigs, {
            upstreams: { a: { url: a.url, models: 'auto', ...shows('for-a') }, b: { url: b.url, ...shows('for-b') } },
            defaults: { ca_file: authority.ca }, settings: AT_ONCE,
        });
        await completed(group.open('Hi', { model: 'listed' }));
        await completed(group.open('Hi'));
        await group.check('a', 'up');
        await group.check('b', 'up');
        await until(() => rigs.list.every(({ checks }) => checks.includes('/health')));
        assert.deepEqual([...new Set(a.callers)], ['for-a']);
        assert.deepEqual([...new Set(b.callers)], ['for-b']);
        assert.ok(rigs.a.checks.includes('/v1/models'));
    });

    test('without one, or with that of a stranger, it cannot be reached', async (t) => {
        const authority = new Authority(t), other = new Authority(t, 'Another'), rigs = await startRigs(t, { none: { models: ['none'] }, wrong: { models: ['wrong'] } });
        const urls = { none: (await behindTls(t, authority, rigs.none)).url, wrong: (await behindTls(t, authority, rigs.wrong)).url };
        const { cert, key } = other.make('stranger');
        const group = await startGroup(t, rigs, {
            upstreams: { none: { url: urls.none, models: ['none'] }, wrong: { url: urls.wrong, models: ['wrong'], client_cert: cert, client_key: key } },
            defaults: { ca_file: authority.ca }, settings: { ...AT_ONCE, retry_attempts: 1 },
        });
        for (const model of ['none', 'wrong'])
            checkError(await group.ask('Hi', { model }), 502);
        assert.deepEqual(rigs.counts(), { none: 0, wrong: 0 });
    });
});

describe('sessions', { concurrency: 4 }, () => {
    const sessionsOf = (rig) => rig.rounds.map(({ headers }) => headers['x-session-id']);

    for (const way of ['previous', 'conversation', 'keyed'])
        test(`session_header: one name for all of a talk, whatever its policy (${way})`, async (t) => {
            const rigs = await startRigs(t, { a: {} });
            const group = await startGroup(t, rigs, { upstreams: { a: { session_header: true } }, policies: { m: { policy: 'least' } } });
            const [one, two] = conversations({ n: 2, turns: 4, ways: [way] });
            for (let k = 0; k < 4; k++)
                for (const each of [one, two])
                    await turn(group, each, k);
            const ids = sessionsOf(rigs.a);
            assert.equal(new Set(ids).size, 2);
            assert.ok(ids.every((id, i) => /^[0-9a-f]{16}$/.test(id) && id === ids[i % 2]), ids.join());
        });

    test('a request that belongs to nothing begins a session, a relay has none', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { session_header: true }, b: {} }, policies: IN_ORDER });
        await completed(group.open('Hi'));
        await completed(group.open('Hi'));
        await ask(group.daemon, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions' });
        const [one, two, relay] = sessionsOf(rigs.a);
        assert.ok(one !== undefined && two !== undefined && one !== two && relay === undefined);
        rigs.a.behave(FAULTS.badGateway(), 1);
        await completed(group.open('Hi'));
        assert.deepEqual(sessionsOf(rigs.b), [undefined], 'only who wants to know is told');
    });

    /* One llama.cpp with so many slots, which it has told. */
    async function pinned(t, slots, more = {}) {
        const rigs = await startRigs(t, { a: { kind: 'llama.cpp', slots } });
        const group = await startGroup(t, rigs, { upstreams: { a: { slot_pinning: true, kind: 'llama.cpp', ...more } } });
        await until(() => rigs.a.checks.includes('/props'));
        await until(async () => {
            rigs.reset();
            await completed(group.open('Which slot?', { prompt_cache_key: 'probe' }));
            return rigs.a.rounds[0].body.id_slot;
        }, (slot) => slot !== undefined);
        await group.rest();
        rigs.reset();
        return { rigs, group, slotsOf: () => rigs.a.rounds.map(({ body }) => body.id_slot) };
    }

    test('slot_pinning: a talk keeps its slot, and another gets another', async (t) => {
        const { group, slotsOf } = await pinned(t, 3);
        const talks = conversations({ n: 2, turns: 4, ways: ['previous', 'keyed'] });
        for (let k = 0; k < 4; k++)
            for (const one of talks)
                await turn(group, one, k);
        const slots = slotsOf();
        assert.ok(slots.every((slot, i) => Number.isInteger(slot) && slot >= 0 && slot < 3 && slot === slots[i % 2]), slots.join());
        assert.notEqual(slots[0], slots[1]);
    });

    test('no slot is told while another round uses it, or one of which it is not known', async (t) => {
        const { group, rigs } = await pinned(t, 2);
        const slotOf = (question) => rigs.a.rounds.find((round) => round.question === question).body.id_slot;
        let release;
        const gate = new Promise((done) => (release = done));
        rigs.a.usually(heldAfterFirst(gate));
        const first = group.open('one', { prompt_cache_key: 'x', stream: true });
        await rigs.a.round(0);
        const second = group.open('two', { prompt_cache_key: 'x', stream: true });
        await rigs.a.round(1);
        const third = group.open('three', { prompt_cache_key: 'y', stream: true });
        await rigs.a.round(2);
        release();
        await Promise.all([first, second, third].map(completed));
        assert.ok(Number.isInteger(slotOf('one')));
        assert.equal(slotOf('two'), undefined, 'its session has a slot, which is busy');
        assert.equal(slotOf('three'), undefined, 'nobody knows where the second is');
        await group.rest(); /* the last of them may have its slot for a moment yet */
        await completed(group.open('four', { prompt_cache_key: 'y' }));
        assert.ok(Number.isInteger(slotOf('four')));
    });

    test('the client\'s own slot counts', async (t) => {
        const { group, slotsOf } = await pinned(t, 4);
        await completed(group.open('Hi', { prompt_cache_key: 'x', id_slot: 3 }));
        assert.deepEqual(slotsOf(), [3]);
    });

    test('a slot is told to llama.cpp alone, and a prompt_cache_key to who knows it', async (t) => {
        const rigs = await startRigs(t, { a: { kind: 'vllm', slots: 2 }, b: { models: ['b'] } });
        const group = await startGroup(t, rigs, { upstreams: { a: { slot_pinning: true, kind: 'vllm' }, b: { models: ['b'], kind: 'openai' } } });
        await completed(group.open('Hi', { prompt_cache_key: 'x' }));
        await completed(group.open('Hi', { prompt_cache_key: 'x', model: 'b' }));
        assert.deepEqual(rigs.rounds.map(({ body }) => [body.id_slot, body.prompt_cache_key]), [[undefined, undefined], [undefined, 'x']]);
    });
});

describe('fields of requests', { concurrency: 4 }, () => {
    const FIELDS = { top_k: 5, guided_choice: ['yes'], grammar: 'root ::= "yes"', nobodys: 1 };
    const sent = ({ body }) => Object.keys(FIELDS).filter((name) => name in body);

    async function two(t, settings) {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { kind: 'vllm' }, b: { kind: 'llama.cpp' } }, policies: IN_ORDER, settings });
        return { rigs, group };
    }

    test('each upstream gets those that its kind knows, also when another was meant to get the request', async (t) => {
        const { rigs, group } = await two(t);
        await completed(group.open('Hi', FIELDS));
        rigs.a.behave(FAULTS.badGateway(), 1);
        await completed(group.open('Hi', FIELDS));
        assert.deepEqual(rigs.a.rounds.map(sent), [['top_k', 'guided_choice'], ['top_k', 'guided_choice']]);
        assert.deepEqual(rigs.b.rounds.map(sent), [['top_k', 'grammar']]);
        assert.equal((await line(group)).ignored_fields, '1');
    });

    test('pass_fields of an upstream is its own', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { pass_fields: ['top_k'] }, b: { pass_fields: ['grammar'] } }, policies: IN_ORDER });
        rigs.a.behave(FAULTS.badGateway(), 1);
        await completed(group.open('Hi', FIELDS));
        assert.deepEqual([rigs.a.rounds.map(sent), rigs.b.rounds.map(sent)], [[['top_k']], [['grammar']]]);
    });

    test('unknown_fields=reject refuses what no candidate knows', async (t) => {
        const { rigs, group } = await two(t, { unknown_fields: 'reject', ...AT_ONCE });
        checkError(await group.ask('Hi', FIELDS), 400, 'unknown_parameter');
        await completed(group.open('Hi', { grammar: FIELDS.grammar }));
        assert.deepEqual(rigs.a.rounds.map(sent), [[]]);
    });
});

describe('the line of a turn', { concurrency: 4 }, () => {
    test('says why its upstream was chosen, and how long it waited for a place', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { max_concurrency: 1 } } });
        let release;
        rigs.a.usually(heldAfterFirst(new Promise((done) => (release = done))));
        const first = group.open('one', { stream: true });
        await rigs.a.round(0);
        const second = group.open('two', { stream: true });
        await group.counted('queue', {}, 1);
        setTimeout(release, 150);
        await Promise.all([completed(first), completed(second)]);
        const [one, two] = [await line(group, 0), await line(group, 1)];
        assert.deepEqual([one.routing, one.queue_ms], ['only', undefined]);
        assert.equal(two.routing, 'only');
        assert.ok(Number(two.queue_ms) >= 100, two.queue_ms);
    });

    test('says what an upstream had cached that was left for another', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs);
        const instructions = filler(20_000, 7);
        await completed(group.open('one', { instructions, prompt_cache_key: 'x' }));
        const [home] = rigs.list.filter(({ rounds }) => rounds.length === 1);
        await group.rest();
        await completed(group.open('two', { instructions, prompt_cache_key: 'x' }));
        await group.rest();
        home.behave(FAULTS.badGateway(), 1);
        await completed(group.open('three', { instructions, prompt_cache_key: 'x' }));
        const lines = [await line(group, 0), await line(group, 1), await line(group, 2)];
        assert.deepEqual(lines.map(({ routing }) => routing), ['least', 'key', 'failover']);
        assert.deepEqual(lines.slice(0, 2).map(({ cache_lost_bytes: lost }) => lost), [undefined, undefined]);
        assert.ok(Number(lines[2].cache_lost_bytes) > 20_000 && Number(lines[2].cache_lost_bytes) < 21_000, lines[2].cache_lost_bytes);
    });

});

describe('other questions to a model', { concurrency: 4 }, () => {
    const LONG = 'The tokens of the grammar are listed here. '.repeat(150);
    const input = [{ role: 'user', content: 'List them.' }, { role: 'assistant', content: LONG }, { role: 'user', content: 'Go on.' }];
    const isQuestion = ({ question }) => question.startsWith('Everything above is about to be replaced by a summary');

    test('compaction_model: a summary is asked of an upstream that serves it, and the turn goes on at its own', async (t) => {
        const rigs = await startRigs(t, { a: {}, cheap: { models: ['real-name'] } });
        const group = await startGroup(t, rigs, {
            upstreams: { a: { kind: 'vllm' }, cheap: { kind: 'openai', models: [{ name: 'summarizer', model: 'real-name' }] } },
            settings: { compaction_model: 'summarizer', count_by: 'off' },
        });
        await completed(group.open(input, { context_management: [{ type: 'compaction', compact_threshold: 1000 }], top_k: 3 }));
        assert.deepEqual(rigs.cheap.rounds.map((round) => [isQuestion(round), round.body.model, 'top_k' in round.body]), [[true, 'real-name', false]]);
        assert.deepEqual(rigs.a.rounds.map((round) => [isQuestion(round), round.body.model, round.body.top_k]), [[false, 'm', 3]]);
        assert.ok(JSON.stringify(rigs.a.rounds[0].body.messages).includes('cheap says'));
        assert.equal((await line(group)).upstream, 'a');
    });

    test('fields that one of two upstreams takes are kept from the other, also behind a summary of a third', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, cheap: { models: ['summarizer'] } });
        const group = await startGroup(t, rigs, {
            upstreams: { a: { kind: 'openai' }, b: { kind: 'vllm' }, cheap: { models: ['summarizer'] } },
            policies: IN_ORDER, settings: { compaction_model: 'summarizer', count_by: 'off' },
        });
        await completed(group.open(input, { context_management: [{ type: 'compaction', compact_threshold: 1000 }], top_k: 3 }));
        assert.deepEqual(rigs.cheap.rounds.map(isQuestion), [true]);
        assert.deepEqual(rigs.a.rounds.map(({ body }) => [body.model, 'top_k' in body]), [['m', false]]);
    });

    test('one that nobody serves makes no summary: the turn goes on without', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const group = await startGroup(t, rigs, { settings: { compaction_model: 'nobodys', count_by: 'off', ...AT_ONCE } });
        await completed(group.open(input, { context_management: [{ type: 'compaction', compact_threshold: 1000 }] }));
        assert.deepEqual(rigs.a.rounds.map(isQuestion), [false]);
        await group.daemon.logged(/compaction status=failed error=model_not_found/);
        checkError(await group.ask(input, { path: '/v1/responses/compact' }), 404, 'model_not_found');
    });

    for (const [name, fault] of [['503', FAULTS.busy], ['a reset', FAULTS.reset], ['a break', FAULTS.brokenAfterText]]) {
        test(`after ${name} it is asked of another, as a round is`, async (t) => {
            const rigs = await startRigs(t, { a: {}, b: {} });
            const group = await startGroup(t, rigs, { policies: IN_ORDER, settings: { count_by: 'off', eject_after: 0 } });
            rigs.a.behave(fault(), 1);
            const compacted = await group.ask(input, { path: '/v1/responses/compact' });
            assert.equal(compacted.status, 200, compacted.text);
            assert.deepEqual([rigs.a.rounds.length, rigs.b.rounds.length], [1, 1]);
            rigs.reset();
            rigs.a.behave(fault(), 1);
            await completed(group.open(input, { context_management: [{ type: 'compaction', compact_threshold: 1000 }] }));
            assert.deepEqual([rigs.a.rounds.map(isQuestion), rigs.b.rounds.map(isQuestion)], [[true, false], [true]]);
        });
    }

    test('tokens are counted by an upstream that is there', async (t) => {
        const rigs = await startRigs(t, { a: { kind: 'vllm' }, b: { kind: 'vllm' } });
        const group = await startGroup(t, rigs, { policies: IN_ORDER, settings: { ...AT_ONCE, count_by: 'completion' } });
        await completed(group.open('Hi'));
        await rigs.a.kill();
        const long = { context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
        await completed(group.open(`${LONG} one`, long)); /* counts at the one that is gone, in vain */
        await group.check('a', 'down');
        const got = await group.ask('How many?', { path: '/v1/responses/input_tokens' });
        assert.equal(got.status, 200, got.text);
    });
});

captures.judge(test);
