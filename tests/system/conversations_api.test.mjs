/* conversations_api.test.mjs -- conversations and their items over HTTP (CONTRACT 6). */
import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';

const captures = new Captures();
const ROOT = '/v1/conversations';
const message = (text, more = {}) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }], ...more });
const textsOf = (list) => list.data.map((item) => item.content[0].text);
const numbered = (n) => Array.from({ length: n }, (_, i) => message(`number ${i}`));

describe('conversations', { concurrency: false }, () => {
    const both = shared({ before, after });
    const post = (path, body) => ask(both.daemon, body, { path });
    const fetch = (path) => get(both.daemon, path);
    const remove = (path) => get(both.daemon, path, { method: 'DELETE' });
    const good = (got, kind) => {
        assert.equal(got.status, 200, got.text);
        assert.match(got.headers['content-type'], /^application\/json/);
        captures.keep(`${kind}.json`, got.bytes, '--kind', kind);
        return got.json;
    };
    const create = async (body) => good(await post(ROOT, body), 'conversation');
    const checkUnknown = (got, what, id, param = null) => {
        const { message } = checkError(got, 404, 'not_found', param);
        assert.equal(message, `${what} with id '${id}' not found.`);
    };

    test('one is created, found, changed, deleted, and unknown from then on', async () => {
        const made = await create({ metadata: { topic: 'demo', note: 'é\n"' } });
        assert.match(made.id, /^conv_[0-9A-Za-z]{32}$/);
        assert.deepEqual(made, { id: made.id, object: 'conversation', created_at: made.created_at, metadata: { topic: 'demo', note: 'é\n"' } });
        assert.ok(Math.abs(made.created_at - Date.now() / 1000) < 60);
        const path = `${ROOT}/${made.id}`;
        assert.deepEqual(good(await fetch(path), 'conversation'), made);

        const changed = good(await post(path, { metadata: { topic: 'other' } }), 'conversation');
        assert.deepEqual(changed, { ...made, metadata: { topic: 'other' } });
        assert.deepEqual(good(await fetch(path), 'conversation'), changed);
        assert.deepEqual(good(await post(path, { metadata: null }), 'conversation').metadata, {});

        assert.deepEqual(good(await remove(path), 'conversation-deleted'), { id: made.id, object: 'conversation.deleted', deleted: true });
        for (const got of [await fetch(path), await post(path, { metadata: {} }), await remove(path), await fetch(`${path}/items`),
            await post(`${path}/items`, { items: [message('x')] }), await fetch(`${path}/items/msg_x`), await remove(`${path}/items/msg_x`)])
            checkUnknown(got, 'Conversation', made.id);
    });

    test('nothing is needed to create one', async () => {
        for (const body of [undefined, '', {}, { items: null, metadata: null }, { items: [], metadata: {} }]) {
            const { id, metadata } = await create(body);
            assert.deepEqual(metadata, {});
            assert.deepEqual(good(await fetch(`${ROOT}/${id}/items`), 'item-list'), { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
        }
    });

    test('items are added, listed, found and deleted one by one', async () => {
        const made = await create({ items: [message('a')] });
        const items = `${ROOT}/${made.id}/items`;
        const added = good(await post(items, { items: [message('b', { id: 'msg_of_client' }), { role: 'assistant', content: 'c' }] }), 'item-list');
        assert.deepEqual(textsOf(added), ['b', 'c']);
        assert.equal(added.first_id, 'msg_of_client');
        assert.equal(added.last_id, added.data[1].id);
        assert.equal(added.has_more, false);

        const all = good(await fetch(`${items}?order=asc`), 'item-list');
        assert.deepEqual(textsOf(all), ['a', 'b', 'c']);
        assert.deepEqual(all.data.slice(1), added.data, 'an item has one form');
        for (const item of all.data) {
            assert.match(item.id, /^msg_/);
            assert.deepEqual((await fetch(`${items}/${item.id}`)).json, item);
        }

        assert.deepEqual(good(await remove(`${items}/msg_of_client`), 'conversation'), made);
        checkUnknown(await fetch(`${items}/msg_of_client`), 'Item', 'msg_of_client');
        checkUnknown(await remove(`${items}/msg_of_client`), 'Item', 'msg_of_client');
        assert.deepEqual(textsOf((await fetch(`${items}?order=asc`)).json), ['a', 'c']);
    });

    test('pages together are the whole list, in both directions', async () => {
        const { id } = await create({ items: numbered(20) });
        const items = `${ROOT}/${id}/items`;
        await post(items, { items: [message('number 20'), message('number 21'), message('number 22')] });
        for (const [order, want] of [['asc', 23], ['desc', 23]]) {
            const texts = [];
            for (let after = '', more = true; more;) {
                const page = good(await fetch(`${items}?limit=7&order=${order}${after}`), 'item-list');
                assert.ok(page.data.length <= 7);
                assert.equal(page.first_id, page.data[0].id);
                assert.equal(page.last_id, page.data.at(-1).id);
                texts.push(...textsOf(page));
                more = page.has_more;
                after = `&after=${page.last_id}`;
            }
            const whole = Array.from({ length: want }, (_, i) => `number ${i}`);
            assert.deepEqual(texts, order === 'asc' ? whole : whole.reverse());
        }
        const page = (await fetch(items)).json;
        assert.equal(page.data.length, 20, 'the usual limit');
        assert.equal(textsOf(page)[0], 'number 22', 'the newest comes first');
        assert.equal(page.has_more, true);
        checkUnknown(await fetch(`${items}?after=msg_none`), 'Item', 'msg_none');
    });

    test('an item that is there is not added again', async () => {
        const { id } = await create({ items: [message('here', { id: 'msg_same' })] });
        const items = `${ROOT}/${id}/items`;
        const same = { type: 'item_reference', id: 'msg_same' };
        const added = good(await post(items, { items: [message('again', { id: 'msg_same' }), message('more'), same] }), 'item-list');
        assert.deepEqual(textsOf(added), ['here', 'more'], 'it is shown as it is held');
        assert.deepEqual(textsOf(good(await fetch(`${items}?order=asc`), 'item-list')), ['here', 'more']);
        assert.equal((await fetch(`${items}/msg_same`)).json.content[0].text, 'here');
    });

    test('a reference stands for the item it names', async () => {
        const { id } = await create({ items: [message('here', { id: 'msg_named' })] });
        const other = await create({ items: [{ type: 'item_reference', id: 'msg_named' }] });
        const items = `${ROOT}/${other.id}/items`;
        assert.deepEqual(textsOf((await fetch(items)).json), ['here']);
        assert.deepEqual(textsOf(good(await post(items, { items: [{ id: 'msg_named' }] }), 'item-list')), ['here']);
        for (const path of [ROOT, items])
            checkUnknown(await post(path, { items: [message('x'), { type: 'item_reference', id: 'msg_lost' }] }), 'Item', 'msg_lost', 'items[1]');
        assert.equal((await fetch(items)).json.data.length, 1, 'nothing of a refused list is kept');
        assert.equal((await fetch(`${ROOT}/${id}/items`)).json.data.length, 1);
    });

    test('ids in paths are percent-decoded', async () => {
        const odd = 'msg_a.b:c-d';
        const { id } = await create({ items: [message('odd', { id: odd })] });
        const path = `${ROOT}/${id.replace('conv', '%63onv')}/items`, escaped = 'msg%5Fa%2eb%3Ac%2Dd';
        assert.equal((await fetch(`${path}/${escaped}`)).json.id, odd);
        assert.equal((await fetch(`${path}?order=asc&after=${escaped}`)).json.data.length, 0);
        checkUnknown(await fetch(`${ROOT}/%00%FF`), 'Conversation', '\ufffd\ufffd');
        checkUnknown(await fetch(`${path}/%2e%2e%2f`), 'Item', '../');
    });

    /* [path below the conversations, body, code, param] */
    for (const [path, body, code, param] of [
        ['', '{', 'invalid_json', null],
        ['', '[]', 'invalid_type', null],
        ['', { metadata: 'x' }, 'invalid_type', 'metadata'],
        ['', { metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
        ['', { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) }, 'object_above_max_properties', 'metadata'],
        ['', { metadata: { ['k'.repeat(65)]: '' } }, 'string_above_max_length', 'metadata'],
        ['', { metadata: { a: 'v'.repeat(513) } }, 'string_above_max_length', 'metadata.a'],
        ['', { items: {} }, 'invalid_type', 'items'],
        ['', { items: [5] }, 'invalid_type', 'items[0]'],
        ['', { items: [message('x'), { type: 'message', content: 'x' }] }, 'missing_required_parameter', 'items[1].role'],
        ['', { items: numbered(21) }, 'array_above_max_length', 'items'],
        ['/conv_x', {}, 'missing_required_parameter', 'metadata'],
        ['/conv_x', '', 'invalid_json', null],
        ['/conv_x', { metadata: [] }, 'invalid_type', 'metadata'],
        ['/conv_x/items', {}, 'missing_required_parameter', 'items'],
        ['/conv_x/items', { items: null }, 'missing_required_parameter', 'items'],
        ['/conv_x/items', { items: 'x' }, 'invalid_type', 'items'],
        ['/conv_x/items', { items: numbered(21) }, 'array_above_max_length', 'items'],
        ['/conv_x/items?include[]=x', { items: [] }, 'invalid_value', 'include'],
    ]) {
        test(`POST ${ROOT}${path} ${JSON.stringify(body).slice(0, 60)} is ${code}`, async () => {
            const got = await post(ROOT + path, body);
            checkError(got, 400, code, param);
            captures.keep('error.json', got.bytes, '--kind', 'error');
        });
    }

    for (const [query, code, param] of [
        ['limit=0', 'integer_below_min_value', 'limit'], ['limit=101', 'integer_above_max_value', 'limit'],
        ['limit=ten', 'invalid_type', 'limit'], ['order=up', 'invalid_value', 'order'], ['include=x', 'invalid_value', 'include'],
    ])
        test(`a list with ${query} is ${code}`, async () => void checkError(await fetch(`${ROOT}/conv_x/items?${query}`), 400, code, param));

    test('another media type is refused', async () => {
        checkError(await ask(both.daemon, '{}', { path: ROOT, headers: { 'content-type': 'text/plain' } }), 415, 'unsupported_media_type');
    });

    for (const [method, path, allow] of [
        ['GET', '', ['POST']], ['PUT', '/conv_x', ['DELETE', 'GET', 'HEAD', 'POST']], ['DELETE', '/conv_x/items', ['GET', 'HEAD', 'POST']],
        ['POST', '/conv_x/items/msg_x', ['DELETE', 'GET', 'HEAD']],
    ]) {
        test(`${method} ${ROOT}${path} is 405 and says what is allowed`, async () => {
            const got = await get(both.daemon, ROOT + path, { method });
            checkError(got, 405, 'method_not_allowed');
            assert.deepEqual(got.headers.allow.split(', ').sort(), [...allow, 'OPTIONS'].sort());
        });
    }

    for (const path of ['/', '/conv_x/', '//items', '/conv_x/items/', '/conv_x/items/a/b', '/conv_x/other'])
        test(`${ROOT}${path} is no path`, async () => {
            assert.match(checkError(await fetch(ROOT + path), 404, 'not_found').message, /^Unknown path/);
        });

    test('clients that leave in the middle disturb nobody', async () => {
        const { id } = await create({});
        const items = `${ROOT}/${id}/items`;
        const left = Array.from({ length: 50 }, (_, i) => open(both.daemon, { items: [message(`left ${i}`)] }, { path: items }));
        await Promise.all(left.map((exchange) => new Promise((done) => exchange.request.once('finish', done))));
        left.forEach((exchange) => exchange.destroy());
        await post(items, { items: [message('stayed')] });
        assert.ok(textsOf((await fetch(`${items}?limit=100`)).json).includes('stayed'));
    });
});

test('what belongs to another key is unknown', async (t) => {
    const { daemon } = await pair(t, '--api-key', 'key-a', '--api-key', 'key-b');
    const as = (key, method, path, body) => ask(daemon, body, { method, path, headers: { authorization: `Bearer ${key}` } });
    const { id } = (await as('key-a', 'POST', ROOT, { items: [message('mine', { id: 'msg_mine' })] })).json;
    const path = `${ROOT}/${id}`;
    for (const [method, below, body] of [
        ['GET', ''], ['POST', '', { metadata: {} }], ['DELETE', ''], ['GET', '/items'], ['POST', '/items', { items: [] }],
        ['GET', '/items/msg_mine'], ['DELETE', '/items/msg_mine'],
    ]) {
        const { message } = checkError(await as('key-b', method, path + below, body), 404, 'not_found', null);
        assert.equal(message, `Conversation with id '${id}' not found.`);
    }
    checkError(await as('key-b', 'POST', ROOT, { items: [{ type: 'item_reference', id: 'msg_mine' }] }), 404, 'not_found');
    assert.equal((await as('key-a', 'GET', `${path}/items/msg_mine`)).status, 200, 'nothing has changed for its owner');
});

captures.judge(test);
