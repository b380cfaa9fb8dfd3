/* seal.mjs -- encrypted_content as the gateway makes it (src/ev/seal.h), written a second time.
 *
 *     seal({ secret, purpose: 'antiphon compaction', owner: '' }, text)
 *     compaction({ secret }, { v: 1, k: 's', t: 'In short.' })       an input item
 */
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';

const derive = (from, salt, info, n) => Buffer.from(hkdfSync('sha256', from, salt, info, n));

export function seal({ secret, purpose, owner = '' }, text) {
    const key = derive(Buffer.from(secret), '', purpose, 32);
    const id = derive(key, '', 'id', 6), salt = randomBytes(16);
    const textKey = derive(key, salt, 'text', 44);
    const cipher = createCipheriv('aes-256-gcm', textKey.subarray(0, 32), textKey.subarray(32));
    cipher.setAAD(Buffer.from(owner));
    const parts = [id, salt, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `gw1.${Buffer.concat(parts).toString('base64url')}`;
}

export const compaction = (how, inside, more = {}) => ({
    type: 'compaction',
    encrypted_content: seal({ purpose: 'antiphon compaction', ...how }, typeof inside === 'string' ? inside : JSON.stringify(inside)),
    ...more,
});
