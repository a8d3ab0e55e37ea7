//! The keyed digest by which NVIDIA's runtime knows its driver: HMAC (RFC 2104) with MD2 (RFC 1319), both with blocks of 16 bytes.

use md2::{Digest, Md2};

/// The digest of bytes with a key of one block.
pub(super) fn keyed(key: [u8; 16], bytes: &[u8]) -> [u8; 16] {
    let padded = |pad: u8| key.map(|byte| byte ^ pad);
    let inner = Md2::new().chain_update(padded(0x36)).chain_update(bytes).finalize();
    Md2::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}
