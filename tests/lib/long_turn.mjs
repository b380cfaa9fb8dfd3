/* long_turn.mjs -- a turn of some sixty events with something of everything: reasoning, text, MCP calls, one of
 * several at once, and a call of the client's own. Any number of such turns may be under way at an upstream.
 *
 *     const play = new LongTurn(up);            takes over what the upstream says
 *     const body = play.request('one');         a request; its turn waits before its last round ...
 *     play.release('one');                      ... for this
 */
import { declared, shown } from './mcp.mjs';
import { chunk, frames, stream, usageChunk, words } from './upstream.mjs';

const call = (index, id, name, args) => {
    const text = JSON.stringify(args);
    const half = Math.ceil(text.length / 2);
    return [{ index, id, type: 'function', function: { name, arguments: '' } },
        { index, function: { arguments: text.slice(0, half) } },
        { index, function: { arguments: text.slice(half) } }].map((piece) => chunk({ tool_calls: [piece] }));
};

const thought = (text) => words(text).map((word) => chunk({ reasoning_content: word }));
const said = (text) => words(text).map((word) => chunk({ content: word }));
const end = (reason) => [chunk({}, reason), usageChunk(20, 5), '[DONE]'];

const ECHO = shown('fake', 'echo');

/* What is said in each round; a round is known by how many results came before it. */
const ROUNDS = {
    0: [...thought('Let me look into it.'), ...said('I ask twice.'), ...call(0, 'a', ECHO, { message: 'first' }), ...call(1, 'b', ECHO, { message: 'sec\u2028ond' }), ...end('tool_calls')],
    2: [...thought('One is left.'), ...call(0, 'c', ECHO, { message: 'third' }), ...end('tool_calls')],
    3: [...thought('Enough.'), ...said('Here \u{1f600} it "is".'), ...call(0, 'd', 'note', { text: 'all of it' }), ...end('tool_calls')],
};
const LAST = 3;

const NOTE = { type: 'function', name: 'note', parameters: { type: 'object', properties: { text: { type: 'string' } } } };

export class LongTurn {
    #gates = new Map();

    constructor(up) {
        up.always(({ body }) => this.#answer(body.messages));
    }

    #answer(messages) {
        const gate = this.#gates.get(messages.find(({ role }) => role === 'user').content);
        const round = messages.filter(({ role }) => role === 'tool').length;
        return stream([...round === LAST && gate ? [gate.opened] : [], ...frames(...ROUNDS[round])]);
    }

    request(name, more = {}) {
        const gate = {};
        gate.opened = new Promise((done) => (gate.open = done));
        this.#gates.set(name, gate);
        return { model: 'm', input: name, tools: [declared('fake'), NOTE], ...more };
    }

    release(name) {
        this.#gates.get(name).open();
    }
}
