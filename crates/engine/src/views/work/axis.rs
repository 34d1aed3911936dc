//! A time axis without the pauses in which no session worked.

/// Time without work after which the axis leaves a pause out, in milliseconds.
const PAUSE: i64 = 10 * 60 * 1000;

/// Maps times to places on an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// Stretches with work: begin, end, place of the begin on the axis.
    pieces: Vec<(i64, i64, i64)>,
}

impl Axis {
    /// Makes an axis for stretches of work in any order.
    pub fn new(mut stretches: Vec<(i64, i64)>) -> Self {
        stretches.sort_unstable();
        let mut pieces: Vec<(i64, i64, i64)> = Vec::new();
        for (from, to) in stretches {
            match pieces.last_mut() {
                Some((_, end, _)) if from <= end.saturating_add(PAUSE) => *end = to.max(*end),
                Some((begin, end, place)) => {
                    let place = *place + (*end - *begin);
                    pieces.push((from, to, place));
                }
                None => pieces.push((from, to, 0)),
            }
        }
        Self { pieces }
    }

    /// Returns the length of the axis in milliseconds.
    pub fn length(&self) -> i64 {
        let last = self.pieces.last();
        last.map_or(0, |(begin, end, place)| place + (end - begin))
    }

    /// Returns the first time.
    pub fn first(&self) -> Option<i64> {
        self.pieces.first().map(|(begin, ..)| *begin)
    }

    /// Returns the place of a time. A time in a pause is at the end of what was before it.
    pub fn place(&self, time: i64) -> i64 {
        let after = self.pieces.partition_point(|(begin, ..)| *begin <= time);
        let piece = after.checked_sub(1).and_then(|it| self.pieces.get(it));
        piece.map_or(0, |(begin, end, place)| place + time.min(*end) - begin)
    }

    /// Returns the pauses: their place, and the time that is left out.
    pub fn breaks(&self) -> impl Iterator<Item = (i64, i64)> {
        let pairs = self.pieces.iter().zip(self.pieces.iter().skip(1));
        pairs.map(|((_, end, _), (begin, _, place))| (*place, begin - end))
    }
}
