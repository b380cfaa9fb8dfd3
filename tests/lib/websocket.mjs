/* websocket.mjs -- a client of /v1/responses over WebSocket, as thin as possible: it sends what it is
 * told, notes every message with its direction, and waits for none that it is not asked for. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { patience } from './patience.mjs';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODES = { text: 1, close: 8, ping: 9, pong: 10 };

/* One frame of a client. */
export function frame(opcode, payload, { fin = true } = {}) {
    const body = Buffer.from(payload);
    const mask = randomBytes(4);
    const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65536 ? 4 : 10);
    head[0] = (fin ? 0x80 : 0) | opcode;
    head[1] = 0x80 | (body.length < 126 ? body.length : body.length < 65536 ? 126 : 127);
    if (head.length === 4)
        head.writeUInt16BE(body.length, 2);
    else if (head.length === 10)
        head.writeBigUInt64BE(BigInt(body.length), 2);
    for (let i = 0; i < body.length; i++)
        body[i] ^= mask[i & 3];
    return Buffer.concat([head, mask, body]);
}

export class WebSocketClient {
    transcript = []; /* {dir, frame} of every message, {dir: 'close', code} at the end */
    messages = []; /* what the gateway has said */
    closeCode = undefined;
    isEnded = false;
    #taken = 0;
    #waiting = new Set();
    #pieces = []; /* of what was not taken yet, ... */
    #length = 0;
    #needed = 0; /* ... which is looked at when there is so much */
    #head;

    async open({ host, port }, { headers = {}, path = '/v1/responses' } = {}) {
        const key = randomBytes(16).toString('base64');
        this.socket = connect({ host, port });
        this.socket.on('error', () => {});
        this.socket.on('close', () => {
            this.isEnded = true;
            this.#wake();
        });
        this.socket.on('data', (data) => this.#hear(data));
        const lines = Object.entries({
            Host: `${host}:${port}`, Upgrade: 'websocket', Connection: 'Upgrade',
            'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': key, ...headers,
        }).map(([name, value]) => `${name}: ${value}\r\n`);
        this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
        await this.until(() => this.#head !== undefined, 'the handshake');
        this.status = Number(this.#head.split(' ')[1]);
        if (this.status === 101)
            assert.ok(this.#head.includes(createHash('sha1').update(key + GUID).digest('base64')));
        return this;
    }

    get head() {
        return this.#head;
    }

    #wake() {
        for (const wake of this.#waiting)
            wake();
    }

    #hear(data) {
        this.#pieces.push(data);
        this.#length += data.length;
        if (this.#length < this.#needed)
            return;
        this.#needed = 0;
        let bytes = this.#pieces.length === 1 ? data : Buffer.concat(this.#pieces);
        if (this.#head === undefined)
            bytes = this.#takeHead(bytes);
        if (this.#head?.startsWith('HTTP/1.1 101'))
            for (let n; (n = this.#takeFrame(bytes)) > 0;)
                bytes = bytes.subarray(n);
        this.#pieces = [bytes];
        this.#length = bytes.length;
        this.#wake();
    }

    #takeHead(bytes) {
        const end = bytes.indexOf('\r\n\r\n');
        if (end === -1)
            return bytes;
        this.#head = bytes.toString('latin1', 0, end);
        return bytes.subarray(end + 4);
    }

    /* How many bytes it was; 0: it is not complete. */
    #takeFrame(b) {
        if (b.length < 2 || (b[1] === 126 && b.length < 4) || (b[1] === 127 && b.length < 10))
            return 0;
        const [n, at] = b[1] === 126 ? [b.readUInt16BE(2), 4] : b[1] === 127 ? [Number(b.readBigUInt64BE(2)), 10] : [b[1], 2];
        this.#needed = at + n;
        if (b.length < at + n)
            return 0;
        this.#needed = 0;
        this.#take(b[0], b.subarray(at, at + n));
        return at + n;
    }

    #take(first, payload) {
        assert.ok((first & 0x80) !== 0, 'server messages are never fragmented');
        const opcode = first & 15;
        if (opcode === OPCODES.text) {
            const message = JSON.parse(payload);
            this.messages.push(message);
            this.transcript.push({ dir: 'out', frame: message });
        } else if (opcode === OPCODES.close) {
            this.closeCode = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
            this.transcript.push({ dir: 'close', code: this.closeCode });
            this.socket.end(frame(OPCODES.close, payload));
        } else if (opcode === OPCODES.ping) {
            this.socket.write(frame(OPCODES.pong, payload));
        }
    }

    /* Waits until something is true. */
    async until(fits, what, ms = 10_000) {
        for (const deadline = performance.now() + patience(ms); !fits();) {
            if (this.isEnded || performance.now() > deadline) {
                const last = JSON.stringify(this.messages.slice(-3)).slice(0, 2000);
                throw new Error(`${what} did not come; closed: ${this.closeCode}; last messages: ${last}`);
            }
            await new Promise((done) => {
                const wake = () => {
                    clearTimeout(late);
                    this.#waiting.delete(wake);
                    done();
                };
                const late = setTimeout(wake, 200);
                this.#waiting.add(wake);
            });
        }
    }

    /* Text as it is; else an object, which is noted. */
    say(message) {
        if (typeof message !== 'string')
            this.transcript.push({ dir: 'in', frame: message });
        this.socket.write(frame(OPCODES.text, typeof message === 'string' ? message : JSON.stringify(message)));
    }

    create(body, lane) {
        this.say({ type: 'response.create', model: 'm', store: false, ...body, ...(lane === undefined ? {} : { stream_id: lane }) });
    }

    /* The next message that fits, of those that were not taken yet. */
    async next(fits = () => true, what = 'a message', ms = 10_000) {
        let i = -1;
        await this.until(() => (i = this.messages.findIndex((m, k) => k >= this.#taken && fits(m))) !== -1, what, ms);
        this.#taken = i + 1;
        return this.messages[i];
    }

    /* The end of what was asked last on a lane: the last event of a response, or an error. */
    async ends(lane) {
        const last = ['error', 'response.completed', 'response.incomplete', 'response.failed'];
        return this.next((m) => m.stream_id === lane && last.includes(m.type), `the end on lane ${lane}`);
    }

    /* Asks, and gives the response. */
    async respond(body, lane) {
        this.create(body, lane);
        const end = await this.ends(lane);
        assert.ok(end.response, JSON.stringify(end));
        return end.response;
    }

    /* Asks, and gives the error that there is in place of a response. */
    async refused(body, lane) {
        this.create(body, lane);
        const end = await this.ends(lane);
        assert.equal(end.type, 'error', JSON.stringify(end));
        return end;
    }

    async closed() {
        await this.until(() => this.isEnded || this.closeCode !== undefined, 'the close frame');
        return this.closeCode;
    }

    /* Closes as a client does. */
    async close(code = 1000) {
        if (this.closeCode === undefined && !this.isEnded) {
            const payload = Buffer.alloc(2);
            payload.writeUInt16BE(code);
            this.socket.write(frame(OPCODES.close, payload));
            await this.closed();
        }
        this.socket.destroy();
    }

    /* What the contract's validator reads. */
    get lines() {
        const all = this.transcript.some((l) => l.dir === 'close') ? this.transcript : [...this.transcript, { dir: 'close', code: 1006 }];
        return all.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
}

export const dialWebSocket = (daemon, options) => new WebSocketClient().open(daemon, options);

/* A connection that ends with its test, and whose transcript is kept. */
export async function webSocket(t, daemon, { captures, ...options } = {}) {
    const ws = await dialWebSocket(daemon, options);
    t.after(async () => {
        if (ws.status === 101)
            await ws.close();
        ws.socket.destroy();
        if (captures !== undefined && ws.messages.length > 0)
            captures.keep(`${t.name}.jsonl`, ws.lines);
    });
    return ws;
}
