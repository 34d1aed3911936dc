//! Budgets of contexts, and the rule that divides room.

/// The smallest total that can hold a parent and a current frame with their tags.
pub const SMALLEST_TOTAL: usize = 256;

/// Maximum number of tokens of a context, in all and by part.
///
/// The total is a limit. The parts are the weights that divide it in a shortage; a part that needs
/// less leaves its room to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    pub(crate) total: usize,
    /// Part of ancestors.
    pub ancestors: usize,
    /// Part of siblings, siblings of ancestors, and failed attempts.
    pub siblings: usize,
    /// Part of the current frame, its children and the user's directives.
    pub current: usize,
    /// Part of guidance, position and the outer tags.
    pub overhead: usize,
}

/// A total that is too small for a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a budget of {total} tokens is too small; the minimum is {SMALLEST_TOTAL}")]
pub struct TooSmall {
    /// The total.
    pub total: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            total: 4_000,
            ancestors: 1_500,
            siblings: 1_500,
            current: 800,
            overhead: 200,
        }
    }
}

impl Budget {
    /// Creates a budget with the default parts.
    pub fn new(total: usize) -> Result<Self, TooSmall> {
        Self::default().with_total(total)
    }

    /// Sets the total.
    pub fn with_total(self, total: usize) -> Result<Self, TooSmall> {
        if total < SMALLEST_TOTAL {
            return Err(TooSmall { total });
        }
        Ok(Self { total, ..self })
    }

    /// Limits the total to `per_mille` thousandths of a model's usable window.
    pub fn within_window(self, usable: usize, per_mille: usize) -> Self {
        let share = usable / 1_000 * per_mille + usable % 1_000 * per_mille / 1_000;
        Self {
            total: self.total.min(share).max(SMALLEST_TOTAL),
            ..self
        }
    }

    /// Reduces the total; the parts shrink in proportion.
    pub(super) fn reduced_by(self, tokens: usize) -> Self {
        Self {
            total: self.total.saturating_sub(tokens),
            ..self
        }
    }

    /// Returns the total.
    pub fn total(self) -> usize {
        self.total
    }
}

/// A claim to room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Room that would satisfy the claim.
    pub(super) wants: usize,
    /// Weight in a shortage, relative to the others.
    pub(super) weight: usize,
}

/// Divides room: no claim gets more than it wants, and what one leaves goes to the others by weight.
///
/// One rule at every level, from the parts of a context down to the fields of a frame:
///
/// ```text
///  room 10       a (wants 2, weight 3)  b (wants 9, weight 3)  c (wants 9, weight 1)
///  a gets 2 of its 4.3; the 8 that are left go to b and c as 3 : 1      -> 2, 6, 2
/// ```
pub(super) fn share(room: usize, claims: &[Claim]) -> Vec<usize> {
    let mut granted = vec![None; claims.len()];
    let mut left = room;
    loop {
        let waiting = |granted: &[Option<usize>]| {
            let open = claims.iter().zip(granted);
            let open = open.filter(|(_, granted)| granted.is_none());
            open.map(|(claim, _)| claim.weight).sum::<usize>()
        };
        let weights = waiting(&granted);
        let fair = |claim: &Claim, left: usize| left.saturating_mul(claim.weight) / weights.max(1);
        let before = left;
        let mut satisfied = false;
        for (claim, granted) in claims.iter().zip(&mut granted) {
            if granted.is_none() && claim.wants <= fair(claim, before) {
                *granted = Some(claim.wants);
                left -= claim.wants;
                satisfied = true;
            }
        }
        if !satisfied {
            let fill = |(claim, granted): (&Claim, Option<usize>)| {
                granted.unwrap_or_else(|| fair(claim, left))
            };
            return claims.iter().zip(granted).map(fill).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claims(of: &[(usize, usize)]) -> Vec<Claim> {
        let claim = |&(wants, weight): &(usize, usize)| Claim { wants, weight };
        of.iter().map(claim).collect()
    }

    #[test]
    fn a_total_has_a_floor() {
        assert_eq!(Budget::new(255), Err(TooSmall { total: 255 }));
        assert_eq!(Budget::new(4_000), Ok(Budget::default()));
        let small = Budget::default().within_window(32_000, 20);
        assert_eq!(small.total(), 640);
        assert_eq!(Budget::default().within_window(1_000, 20).total(), 256);
        assert_eq!(
            Budget::default().within_window(1_000_000, 20).total(),
            4_000
        );
    }

    #[test]
    fn what_one_leaves_the_others_get() {
        assert_eq!(share(10, &claims(&[(2, 3), (9, 3), (9, 1)])), [2, 6, 2]);
        assert_eq!(share(100, &claims(&[(2, 1), (9, 1)])), [2, 9]);
        assert_eq!(share(0, &claims(&[(2, 1), (9, 1)])), [0, 0]);
        assert_eq!(share(9, &claims(&[(5, 0), (9, 1)])), [0, 9]);
        assert!(share(9, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn room_is_kept_and_used(
            room in 0usize..5_000,
            of in prop::collection::vec((0usize..3_000, 1usize..2_000), 1..8),
        ) {
            let claims = claims(&of);
            let granted = share(room, &claims);
            let sum: usize = granted.iter().sum();
            prop_assert!(sum <= room);
            prop_assert!(granted.iter().zip(&claims).all(|(got, claim)| *got <= claim.wants));
            // Rounding leaves less than one token each.
            let wanted: usize = claims.iter().map(|claim| claim.wants).sum();
            prop_assert!(sum + claims.len() >= room.min(wanted));
            // A claim that wants more than its fair share gets at least that.
            let weights: usize = claims.iter().map(|claim| claim.weight).sum();
            for (got, claim) in granted.iter().zip(&claims) {
                prop_assert!(*got >= claim.wants.min(room * claim.weight / weights));
            }
        }
    }
}
