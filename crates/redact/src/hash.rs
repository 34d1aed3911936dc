// Hashes of the first bytes of keywords, by which the scanner looks up the rules that may match. No
// module doc: the build script, which fills those tables, includes this file.

/// Number of bits that the first bytes of a keyword are hashed to.
const HASH_BITS: u32 = 17;
/// Number of low bits of a hash that do not count when its keywords are looked up.
const START_BITS: u32 = 5;

/// Returns the hash of the first three of four bytes.
const fn hash_three(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes) & 0x00ff_ffff)
}

/// Returns the hash of four bytes.
const fn hash_four(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes))
}

const fn hash(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}
