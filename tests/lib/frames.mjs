/* frames.mjs -- reads the messages out of the bytes of a WebSocket connection, one direction.
 *
 *     const reader = new FrameReader((kind, data) => ...);   // 'text' | 'ping' | 'pong' | 'close'
 *     socket.on('data', (piece) => reader.feed(piece));
 *
 * It takes what it is given for granted: a test looks at what a client or the gateway has said, and
 * both have judged the other's frames.
 */
const KINDS = { 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

export class FrameReader {
    #bytes = Buffer.alloc(0);
    #parts = [];
    #kind = 0;

    constructor(heard) {
        this.heard = heard;
    }

    feed(piece) {
        this.#bytes = Buffer.concat([this.#bytes, piece]);
        for (let frame; (frame = this.#take()) !== null;)
            this.#hear(frame);
    }

    #take() {
        const b = this.#bytes;
        if (b.length < 2)
            return null;
        const masked = (b[1] & 0x80) !== 0;
        let length = b[1] & 0x7f, at = 2;
        if (length === 126 && b.length >= 4)
            [length, at] = [b.readUInt16BE(2), 4];
        else if (length === 127 && b.length >= 10)
            [length, at] = [Number(b.readBigUInt64BE(2)), 10];
        else if (length >= 126)
            return null;
        const mask = masked ? b.subarray(at, at + 4) : Buffer.alloc(4);
        at += masked ? 4 : 0;
        if (b.length < at + length)
            return null;
        this.#bytes = b.subarray(at + length);
        const data = Buffer.from(b.subarray(at, at + length)).map((byte, i) => byte ^ mask[i % 4]);
        return { opcode: b[0] & 0x0f, isLast: (b[0] & 0x80) !== 0, data };
    }

    #hear({ opcode, isLast, data }) {
        if (opcode >= 8) {
            this.heard(KINDS[opcode], data);
            return;
        }
        this.#kind = opcode || this.#kind;
        this.#parts.push(data);
        if (!isLast)
            return;
        this.heard(KINDS[this.#kind], Buffer.concat(this.#parts));
        this.#parts = [];
    }
}
