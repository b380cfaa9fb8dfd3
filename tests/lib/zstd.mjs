/* zstd.mjs -- zstd frames without a compressor (RFC 8878): enough to ask a
 * server for anything, since node 20 has none of its own. */

const u24 = (n) => Buffer.from([n & 255, (n >> 8) & 255, n >> 16]);
const u32 = (n) => Buffer.from([n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24]);
const MAGIC = u32(0xfd2fb528);
const BLOCK = 128 * 1024;

/* Single segment, four bytes of content size, no checksum. */
const frame = (size, blocks) => Buffer.concat([MAGIC, Buffer.from([0xa0]), u32(size), ...blocks]);

const block = (type, size, last, content) => Buffer.concat([u24((size << 3) | (type << 1) | (last ? 1 : 0)), content]);

/* The bytes, stored as they are. */
export function zstdStored(bytes) {
    const whole = Buffer.from(bytes), blocks = [];
    for (let at = 0; at === 0 || at < whole.length; at += BLOCK) {
        const part = whole.subarray(at, at + BLOCK);
        blocks.push(block(0, part.length, at + BLOCK >= whole.length, part));
    }
    return frame(whole.length, blocks);
}

/* n times the same byte, four bytes for each 128 KiB of them. */
export function zstdRepeated(char, n) {
    const blocks = [];
    for (let left = n; left > 0; left -= BLOCK)
        blocks.push(block(1, Math.min(left, BLOCK), left <= BLOCK, Buffer.from(char)));
    return frame(n, blocks);
}
