//! A set of 64-bit hashes that numbers its members in the order of their first appearance.
//!
//! The core has no hash maps because their order would reach rendered bytes. This one has no order
//! of its own: members are known by number, and the numbers follow the text.

/// Numbers hashes from 0 upwards.
#[derive(Debug)]
pub(crate) struct Table {
    /// Places, a power of two of them: the upper half of a hash, and its number plus one. The lower
    /// half chooses the place, so that two of a million hashes are taken for one another once in a
    /// thousand conversations, and a place is half as large as with all of the hash: memory is what
    /// this costs.
    places: Vec<(u32, u32)>,
    /// The hash of every member.
    members: Vec<u64>,
}

impl Table {
    /// A table with room for about so many members.
    pub(crate) fn with_room(members: usize) -> Self {
        let places = (members.saturating_mul(2)).next_power_of_two().max(64);
        Self {
            places: vec![(0, 0); places],
            members: Vec::with_capacity(members),
        }
    }

    /// The number of a hash, and whether it is new.
    pub(crate) fn number(&mut self, hash: u64) -> (u32, bool) {
        if (self.members.len() + 1) * 2 > self.places.len() {
            self.grow();
        }
        let at = self.place(hash);
        let next = u32::try_from(self.members.len() + 1).unwrap_or(u32::MAX);
        let Some(place) = self.places.get_mut(at) else {
            return (0, false);
        };
        if place.1 != 0 {
            return (place.1 - 1, false);
        }
        *place = (tag(hash), next);
        self.members.push(hash);
        (next - 1, true)
    }

    /// How many hashes are known.
    pub(crate) fn members(&self) -> usize {
        self.members.len()
    }

    /// The number of a hash that is known.
    pub(crate) fn find(&self, hash: u64) -> Option<u32> {
        let (_, number) = self.places.get(self.place(hash))?;
        number.checked_sub(1)
    }

    /// Where a hash is, or where it would be.
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len() - 1;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the low bits choose the place"
        )]
        let mut at = hash as usize & mask;
        let tag = tag(hash);
        while let Some((known, number)) = self.places.get(at)
            && *number != 0
            && *known != tag
        {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        self.places = vec![(0, 0); self.places.len() * 2];
        for (number, hash) in (1u32..).zip(&self.members) {
            let at = self.place(*hash);
            if let Some(place) = self.places.get_mut(at) {
                *place = (tag(*hash), number);
            }
        }
    }
}

/// The upper half of a hash.
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// A hash of bytes: the same on every machine and in every version.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15u64 ^ bytes.len() as u64;
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        hash = mix(hash, u64::from_le_bytes(*eight));
    }
    let mut last = 0u64;
    for byte in rest {
        last = last << 8 | u64::from(*byte);
    }
    mix(hash, last)
}

/// Adds a value to a hash.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let wide = u128::from(hash ^ value ^ 0xe703_7ed1_a0b4_28db) * 0xa076_1d64_78bd_642f;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves are folded into one"
    )]
    let folded = (wide >> 64) as u64 ^ wide as u64;
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_numbered_as_they_come() {
        let mut table = Table::with_room(1);
        let hashes: Vec<u64> = (0..1000u64).map(|n| hash(&n.to_le_bytes())).collect();
        for (n, value) in hashes.iter().enumerate() {
            assert_eq!(table.number(*value), (u32::try_from(n).unwrap(), true));
        }
        for (n, value) in hashes.iter().enumerate() {
            assert_eq!(table.number(*value), (u32::try_from(n).unwrap(), false));
            assert_eq!(table.find(*value), Some(u32::try_from(n).unwrap()));
        }
        assert_eq!(table.find(hash(b"unknown")), None);
    }
}
