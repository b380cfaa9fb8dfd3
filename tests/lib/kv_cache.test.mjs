/* kv_cache.test.mjs -- the models of caches find again what such servers find again. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { BlockCache, NoCache, SlotCache, promptOf, tokensOf } from './kv_cache.mjs';

const text = (tokens, letter) => `${letter}...`.repeat(tokens);
const cachedOf = async (cache, prompt, answer) => {
    const use = await cache.begin(prompt);
    use.end(answer);
    return use.cached;
};

test('a prompt begins with tools and keeps what was said in its place', () => {
    const messages = [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello' }, { role: 'user', content: [{ type: 'text', text: 'x' }] }];
    const whole = promptOf({ tools: [{ type: 'function' }], messages });
    assert.equal(whole, '[{"type":"function"}]<|user|>Hi<|end|><|assistant|>Hello<|end|><|user|>[{"type":"text","text":"x"}]<|end|><|assistant|>');
    const before = promptOf({ tools: [{ type: 'function' }], messages: messages.slice(0, 1) });
    assert.ok(whole.startsWith(`${before}Hello`), 'what the model says goes on where its prompt ended');
    assert.equal(promptOf({ prompt: 'as it is' }), 'as it is');
    assert.equal(tokensOf('12345'), 2);
});

test('blocks: whole ones of an equal beginning are found, with what the model said', async () => {
    const cache = new BlockCache({ tokens: 1000 });
    assert.equal(await cachedOf(cache, text(40, 'a'), text(20, 'b')), 0);
    assert.equal(await cachedOf(cache, text(40, 'a') + text(20, 'b') + text(5, 'c')), 48, '60 tokens are three blocks and a part of one');
    assert.equal(await cachedOf(cache, text(17, 'a') + text(40, 'x')), 16);
    assert.equal(await cachedOf(cache, text(1, 'x') + text(39, 'a')), 0, 'the beginning is another');
});

test('blocks: of a prompt that is known whole one block is read again', async () => {
    const cache = new BlockCache({ tokens: 1000 });
    await cachedOf(cache, text(48, 'a'));
    assert.equal(await cachedOf(cache, text(48, 'a')), 32);
});

test('blocks: what was used longest ago goes, of a prompt its end first', async () => {
    const cache = new BlockCache({ tokens: 160 });
    await cachedOf(cache, text(80, 'a'));
    await cachedOf(cache, text(80, 'b'));
    await cachedOf(cache, text(32, 'c'));
    assert.equal(await cachedOf(cache, text(200, 'a').slice(0, 4 * 81)), 48, 'two of its five blocks are gone');
    const other = new BlockCache({ tokens: 160 });
    await cachedOf(other, text(80, 'a'));
    await cachedOf(other, text(80, 'b'));
    assert.equal(await cachedOf(other, text(96, 'a')), 80, 'it is used again');
    await cachedOf(other, text(32, 'c'));
    assert.equal(await cachedOf(other, text(81, 'b')), 32, 'so the other one has lost');
});

test('blocks: never more than there is room for', async () => {
    const cache = new BlockCache({ tokens: 320 });
    for (let i = 0; i < 50; i++)
        await cachedOf(cache, text(100, String.fromCharCode(65 + i)));
    assert.equal(await cachedOf(cache, text(1000, 'z')), 0);
    assert.ok(await cachedOf(cache, text(1000, 'z')) <= 320);
});

test('slots: the one with the longest equal beginning is taken, else the one used longest ago', async () => {
    const cache = new SlotCache({ slots: 2 });
    assert.equal(await cachedOf(cache, text(100, 'a'), text(10, 'r')), 0);
    assert.equal(await cachedOf(cache, text(100, 'b')), 0);
    assert.equal(await cachedOf(cache, text(100, 'a') + text(10, 'r') + text(50, 'c')), 110);
    assert.equal(await cachedOf(cache, text(100, 'd')), 0, 'takes the place of b');
    assert.equal(await cachedOf(cache, text(100, 'b')), 0, 'takes that of a');
    assert.equal(await cachedOf(cache, text(100, 'd')), 99, 'one token is read again');
});

test('slots: an equal beginning of a tenth is too little to take a slot for', async () => {
    const cache = new SlotCache({ slots: 2 });
    await cachedOf(cache, text(100, 'a'));
    assert.equal(await cachedOf(cache, text(10, 'a') + text(90, 'b')), 0, 'goes to the empty one');
    assert.equal(await cachedOf(cache, text(11, 'a') + text(89, 'c')), 11, 'is just enough');
});

test('slots: a request waits until one is free, and a busy one is not looked at', async () => {
    const cache = new SlotCache({ slots: 2 });
    const first = await cache.begin(text(100, 'a'));
    assert.equal(await cachedOf(cache, text(120, 'a')), 0, 'its own slot is busy');
    const second = await cache.begin(text(50, 'b'));
    let third;
    const waiting = cache.begin(text(110, 'a')).then((use) => (third = use));
    await new Promise((done) => setImmediate(done));
    assert.equal(third, undefined);
    first.end();
    await waiting;
    assert.equal(third.cached, 100);
    second.end();
    third.end();
});

test('no cache knows nothing', async () => {
    const cache = new NoCache();
    assert.deepEqual([await cachedOf(cache, 'abcd'), await cachedOf(cache, 'abcd')], [0, 0]);
});
