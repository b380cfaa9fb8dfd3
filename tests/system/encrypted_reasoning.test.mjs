/* encrypted_reasoning.test.mjs -- encrypted_content: reasoning that a client keeps for the
 * gateway. Whoever sends it back lets the model have its reasoning again, and nobody
 * else can; what does not open is ignored. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { launchDaemon, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { Api, fn, messagesOf, output, user } from '../lib/state.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

const captures = new Captures();
const ONE = 'the-first-secret-of-two', TWO = 'the-second-secret-of-two';
const ASKED = { include: ['reasoning.encrypted_content'], store: false, tools: [fn('weather')] };
const PLAIN = 'Let me "look":\n\t\\ \u0001 é 😀 </think> {}';

/* Nothing is known but by encrypted_content. */
const FORGETFUL = ['--model', 'test-model', '--reasoning-cache', '0', '--reasoning-field', 'reasoning_content', '--reasoning-history', 'all'];

/* An upstream that thinks and then calls. */
const thinking = (text, id = 'call_1') => stream(frames(...[...text].map((c) => chunk({ reasoning_content: c })),
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'weather', arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]'));

/* The reasoning item of a response to that. */
async function think(api, up, text = PLAIN, more = ASKED) {
    up.next(thinking(text));
    const { output: [item] } = await api.respond({ ...more });
    assert.equal(item.type, 'reasoning');
    return item;
}

/* What the upstream is told for these items, one for each call in a chain of them. */
async function recall(api, up, ...items) {
    const chain = items.flatMap((item, i) => [item, { type: 'function_call', call_id: `call_${i}`, name: 'weather', arguments: '{}' }, output(`call_${i}`, 'sun')]);
    await api.respond({ input: [user('Hi'), ...chain], tools: ASKED.tools, store: false });
    const calls = messagesOf(up).filter(({ role }) => role === 'assistant');
    assert.equal(calls.length, items.length);
    return calls.map((message) => message.reasoning_content);
}

/* As clients send it back that do not keep the text. */
const sealedOnly = ({ id, encrypted_content }) => ({ type: 'reasoning', id, summary: [], encrypted_content });

describe('a client that asks for encrypted_content', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...FORGETFUL, '--encryption-keys', ONE, '--log-level', 'debug');
    const api = () => new Api(both, captures);

    test('gets it with its reasoning items, and cannot read it', async () => {
        const item = await think(api(), both.up);
        assert.match(item.encrypted_content, /^gw1\.[\w-]{60,}$/);
        assert.equal(item.content[0].text, PLAIN);
        assert.ok(!Buffer.from(item.encrypted_content.slice(4), 'base64url').includes('look'));
    });

    test('gets it in a stream when the item is done', async () => {
        both.up.next(thinking(PLAIN));
        const { events } = await api().stream(ASKED);
        const items = (type) => events.filter((e) => e.type === type).map((e) => e.item).filter(({ type: kind }) => kind === 'reasoning');
        const [[added], [done]] = [items('response.output_item.added'), items('response.output_item.done')];
        assert.equal(added.encrypted_content, undefined);
        assert.match(done.encrypted_content, /^gw1\./);
        assert.equal(events.at(-1).response.output[0].encrypted_content, done.encrypted_content);
        assert.deepEqual(await recall(api(), both.up, sealedOnly(done)), [PLAIN]);
    });

    test('need not send the text back', async () => {
        const item = await think(api(), both.up);
        const forms = [sealedOnly(item), { ...item, content: [] }, { ...item, content: null }, { ...item, content: undefined }];
        assert.deepEqual(await recall(api(), both.up, ...forms), forms.map(() => PLAIN));
    });

    test('may send the text back, and is believed', async () => {
        const item = await think(api(), both.up);
        item.content[0].text = 'Mine.';
        assert.deepEqual(await recall(api(), both.up, item), ['Mine.']);
    });

    test('gets each reasoning back in its place', async () => {
        const texts = ['One.', 'Two.', 'Three.'], items = [];
        for (const text of texts)
            items.push(sealedOnly(await think(api(), both.up, text)));
        assert.deepEqual(await recall(api(), both.up, ...items), texts);
    });

    test('loses only what was damaged, whatever it was', async () => {
        const good = sealedOnly(await think(api(), both.up));
        const sealed = good.encrypted_content;
        const damaged = [...sealed].map((c, i) => sealed.slice(0, i) + (c === 'A' ? 'B' : 'A') + sealed.slice(i + 1));
        damaged.push('', 'gw1.', sealed.slice(0, -1), sealed.slice(1), `${sealed}A`, `${sealed}=`, ` ${sealed}`, `${sealed}\n`, sealed.toUpperCase());
        const items = damaged.map((encrypted_content) => ({ ...good, encrypted_content }));
        assert.deepEqual(await recall(api(), both.up, good, ...items, good), [PLAIN, ...items.map(() => undefined), PLAIN]);
    });

    test('may bring what others have made, or anything else', async () => {
        const good = sealedOnly(await think(api(), both.up));
        const foreign = ['gAAAAABoGWSEPsq0Ff6YbYVJ0xm8XjHf1S6bRk4xY0lBLMq9oGg=', `gw2.${good.encrypted_content.slice(4)}`, 'gw1.'.padEnd(1_000_000, 'A'), 'é\u0000', null, 12, true, [good.encrypted_content], { a: 1 }];
        const items = foreign.map((encrypted_content) => ({ ...good, encrypted_content }));
        assert.deepEqual(await recall(api(), both.up, ...items), items.map(() => undefined));
    });

    test('leaves neither the secret nor its reasoning in the log', async () => {
        const { id, encrypted_content } = await think(api(), both.up, 'Private.');
        await recall(api(), both.up, sealedOnly({ id, encrypted_content }));
        await both.daemon.logged(/info turn /);
        for (const secret of [ONE, 'Private.', encrypted_content, 'encryption_keys'])
            assert.ok(!both.daemon.log.includes(secret), secret);
    });
});

describe('a client that does not ask for encrypted_content', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...FORGETFUL, '--encryption-keys', ONE);

    test('gets none, and may send what it has', async () => {
        const api = new Api(both, captures);
        assert.equal((await think(api, both.up, 'Why.', { ...ASKED, include: [] })).encrypted_content, undefined);
        const item = await think(api, both.up);
        assert.deepEqual(await recall(api, both.up, sealedOnly(item)), [PLAIN]);
    });
});

describe('reasoning that clients see as a summary', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...FORGETFUL, '--encryption-keys', ONE, '--reasoning', 'summary');

    test('comes back by its encrypted_content', async () => {
        const api = new Api(both, captures);
        const item = await think(api, both.up);
        assert.deepEqual(item.summary, [{ type: 'summary_text', text: PLAIN }]);
        item.summary[0].text = 'In short.';
        assert.deepEqual(await recall(api, both.up, item), [PLAIN]);
    });
});

describe('clients with keys of the gateway', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...FORGETFUL, '--encryption-keys', ONE, '--api-key', 'key-of-anna', '--api-key', 'key-of-ben');

    test('cannot open what belongs to another', async () => {
        const [anna, ben] = ['key-of-anna', 'key-of-ben'].map((key) => new Api(both, captures, key));
        const items = [sealedOnly(await think(anna, both.up, 'Of Anna.')), sealedOnly(await think(ben, both.up, 'Of Ben.'))];
        assert.deepEqual(await recall(anna, both.up, ...items), ['Of Anna.', undefined]);
        assert.deepEqual(await recall(ben, both.up, ...items), [undefined, 'Of Ben.']);
    });
});

/* An upstream, and a way to start gateways in front of it, one after the other. */
async function restarts(t) {
    const up = await startUpstream();
    t.after(() => up.close());
    return {
        up,
        async during(args, work) {
            const daemon = await startDaemon({ upstream: up.url, args: [...FORGETFUL, ...args] });
            try {
                return await work(new Api({ up, daemon }, captures), daemon);
            } finally {
                await daemon.stop();
            }
        },
    };
}

const keys = (...secrets) => secrets.flatMap((secret) => ['--encryption-keys', secret]);

test('after a restart the keys decide what can still be opened', async (t) => {
    const { up, during } = await restarts(t);
    const [old, young] = [await during(keys(ONE), (api) => think(api, up, 'Old.')), await during(keys(TWO, ONE), (api) => think(api, up, 'Young.'))].map(sealedOnly);
    for (const [args, expected] of [
        [keys(ONE), ['Old.', undefined]],
        [keys(ONE, TWO), ['Old.', 'Young.']],
        [keys(TWO, ONE), ['Old.', 'Young.']],
        [keys(TWO), [undefined, 'Young.']],
        [keys(`${ONE}-and-more`), [undefined, undefined]],
        [[], [undefined, undefined]],
    ])
        assert.deepEqual(await during(args, (api) => recall(api, up, old, young)), expected, args.join(' '));
});

test('without keys it works until the restart, of which the log tells once somebody asks for it', async (t) => {
    const { up, during } = await restarts(t);
    const told = (daemon) => daemon.log.match(/info .*encryption_keys is not set.*restart/g)?.length ?? 0;
    const item = await during([], async (api, daemon) => {
        await think(api, up, PLAIN, { ...ASKED, include: [] });
        assert.equal(told(daemon), 0);
        const made = sealedOnly(await think(api, up));
        assert.deepEqual(await recall(api, up, made), [PLAIN]);
        await think(api, up);
        assert.equal(told(daemon), 1);
        return made;
    });
    assert.deepEqual(await during([], (api) => recall(api, up, item)), [undefined]);
});

test('beside a SQLite database stands a key, with which it works after the restart', async (t) => {
    const { up, during } = await restarts(t);
    const path = folder(t, 'a.db');
    const store = ['--store', `sqlite:${path}`];
    const item = await during(store, async (api, daemon) => {
        const made = sealedOnly(await think(api, up));
        assert.doesNotMatch(daemon.log, /encryption_keys is not set/);
        return made;
    });
    const { mode, size } = statSync(`${path}-key`);
    assert.deepEqual([mode & 0o777, size], [0o600, 65]);
    assert.deepEqual(await during(store, (api) => recall(api, up, item)), [PLAIN]);
    assert.deepEqual(await during([...keys(ONE), ...store], (api) => recall(api, up, item)), [undefined], 'the operator has another');
    const line = readFileSync(`${path}-key`, 'utf8').trim();
    assert.deepEqual(await during([...keys(ONE, line), ...store], (api) => recall(api, up, item)), [PLAIN], 'and the first');
    writeFileSync(`${path}-key`, 'half of');
    const refused = launchDaemon({ upstream: up.url, args: store });
    await refused.exited;
    assert.match(refused.log, /a\.db-key is not what encrypted_content was sealed with/);
    rmSync(`${path}-key`);
    assert.deepEqual(await during(store, (api) => recall(api, up, item)), [undefined]);
});

test('what was stored keeps its reasoning', async (t) => {
    const { up, during } = await restarts(t);
    const store = ['--store', `sqlite:${folder(t, 'a.db')}`];
    const kept = { ...ASKED, store: true };
    const first = await during([...keys(ONE), ...store], async (api) => {
        const item = sealedOnly(await think(api, up));
        up.next(thinking('', 'call_2'));
        return api.respond({ ...kept, input: [user('Hi'), item, { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' }, output('call_1', 'sun')] });
    });
    for (const [args, expected] of [[keys(TWO, ONE), PLAIN], [keys(TWO), undefined]]) {
        await during([...args, ...store], (api) => api.respond({ previous_response_id: first.id, input: [output('call_2', 'rain')], tools: ASKED.tools }));
        assert.equal(messagesOf(up)[1].reasoning_content, expected);
    }
});

captures.judge(test);
