//! Folding of repeated sequences into loops: lines that are equal, or whose numbers grow evenly from round to
//! round.

/// A number that may grow with the rounds of loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    /// Value in the first round of all loops.
    pub(crate) base: i128,
    /// Growth from a round to the next, for each loop.
    pub(crate) growth: Vec<(usize, i128)>,
    /// The key that has this value, and the default value of the key.
    pub(crate) key: Option<(&'static str, i128)>,
}

impl From<i128> for Linear {
    fn from(base: i128) -> Self {
        Linear { base, growth: Vec::new(), key: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Text that never differs.
    Text(String),
    Number(Linear),
    /// A measured time in nanoseconds: that of a round is the mean of all.
    Time(f64),
    /// A time of the host's work before the action of the line.
    Before(f64),
}

impl Piece {
    fn time(&self) -> Option<f64> {
        match self {
            Piece::Time(time) | Piece::Before(time) => Some(*time),
            _ => None,
        }
    }
}

/// A line, or a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Line(Vec<Piece>),
    Loop {
        rounds: u64,
        /// Number of the loop, if values depend on its round; higher than the numbers of inner loops.
        index: Option<usize>,
        items: Vec<Item>,
    },
}

/// Lines of a round at most.
const LONGEST: usize = 512;
/// Rounds from which on numbers that grow evenly make a loop: two have always grown evenly.
const LEAST_GROWING: usize = 3;

impl Item {
    /// Whether two are the same but for numbers and times.
    fn is_like(&self, other: &Item) -> bool {
        match (self, other) {
            (Item::Line(a), Item::Line(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|pair| match pair {
                        (Piece::Text(a), Piece::Text(b)) => a == b,
                        (Piece::Number(a), Piece::Number(b)) => a.growth == b.growth && a.key == b.key,
                        (Piece::Time(_), Piece::Time(_)) | (Piece::Before(_), Piece::Before(_)) => true,
                        _ => false,
                    })
            }
            (
                Item::Loop { rounds: a, items: mine, index: first },
                Item::Loop { rounds: b, items: its, index: second },
            ) => a == b && first == second && are_like(mine, its),
            _ => false,
        }
    }

    /// Highest number of a loop within the item.
    fn highest_index(&self) -> usize {
        match self {
            Item::Line(_) => 0,
            Item::Loop { index, items, .. } => {
                items.iter().map(Item::highest_index).chain(*index).max().unwrap_or(0)
            }
        }
    }

    fn pieces<'a>(&'a self, found: &mut Vec<&'a Piece>) {
        match self {
            Item::Line(pieces) => found.extend(pieces),
            Item::Loop { items, .. } => items.iter().for_each(|item| item.pieces(found)),
        }
    }

    fn pieces_mut<'a>(&'a mut self, found: &mut Vec<&'a mut Piece>) {
        match self {
            Item::Line(pieces) => found.extend(pieces),
            Item::Loop { items, .. } => items.iter_mut().for_each(|item| item.pieces_mut(found)),
        }
    }
}

fn numbers(round: &[Item]) -> Vec<i128> {
    let mut pieces = Vec::new();
    round.iter().for_each(|item| item.pieces(&mut pieces));
    let base = |piece: &&Piece| if let Piece::Number(number) = piece { Some(number.base) } else { None };
    pieces.iter().filter_map(base).collect()
}

/// Growth of the numbers from a round to the next.
fn growth(from: &[Item], to: &[Item]) -> Vec<i128> {
    numbers(from).into_iter().zip(numbers(to)).map(|(from, to)| to - from).collect()
}

fn are_like(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b))
}

/// Folds items: short loops first, so that those around them find them folded.
pub(crate) fn fold(mut items: Vec<Item>) -> Vec<Item> {
    let mut length = 1;
    while length <= LONGEST.min(items.len() / 2) {
        let (folded, changed) = fold_rounds(items, length);
        items = folded;
        // A loop of loops may be shorter than the lines that it has made one.
        length = if changed { 1 } else { length + 1 };
    }
    items
}

/// Folds loops whose rounds have this many items; true if there were any.
fn fold_rounds(items: Vec<Item>, length: usize) -> (Vec<Item>, bool) {
    let (mut folded, mut at, mut changed) = (Vec::new(), 0, false);
    while at < items.len() {
        let rounds = rounds_from(&items[at..], length);
        if rounds > 1 {
            folded.push(as_loop(&items[at..at + rounds * length], length));
            at += rounds * length;
            changed = true;
        } else {
            folded.push(items[at].clone());
            at += 1;
        }
    }
    (folded, changed)
}

fn rounds_from(items: &[Item], length: usize) -> usize {
    if items.len() < 2 * length {
        return 1;
    }
    let (first, rest) = items.split_at(length);
    if !are_like(first, &rest[..length]) {
        return 1;
    }
    let step = growth(first, &rest[..length]);
    let mut rounds = 2;
    while let Some(next) = items.get(rounds * length..(rounds + 1) * length) {
        let last = &items[(rounds - 1) * length..rounds * length];
        if !are_like(first, next) || growth(last, next) != step {
            break;
        }
        rounds += 1;
    }
    let grows = step.iter().any(|step| *step != 0);
    if grows && rounds < LEAST_GROWING { 1 } else { rounds }
}

fn as_loop(items: &[Item], length: usize) -> Item {
    let rounds = items.len() / length;
    let mut round = items[..length].to_vec();
    let step = growth(&items[..length], &items[length..2 * length]);
    let inner = round.iter().map(Item::highest_index).max().unwrap_or(0);
    let index = step.iter().any(|step| *step != 0).then_some(inner + 1);
    let mut times = vec![0.0; 0];
    for round in items.chunks_exact(length) {
        let mut pieces = Vec::new();
        round.iter().for_each(|item| item.pieces(&mut pieces));
        let of_round: Vec<f64> = pieces.iter().filter_map(|piece| piece.time()).collect();
        times.resize(of_round.len(), 0.0);
        times.iter_mut().zip(of_round).for_each(|(sum, time)| *sum += time / rounds as f64);
    }
    let mut pieces = Vec::new();
    round.iter_mut().for_each(|item| item.pieces_mut(&mut pieces));
    let (mut steps, mut means) = (step.into_iter(), times.into_iter());
    for piece in pieces {
        match piece {
            Piece::Text(_) => {}
            Piece::Number(number) => {
                if let (Some(step), Some(index)) = (steps.next().filter(|step| *step != 0), index) {
                    number.growth.push((index, step));
                }
            }
            Piece::Time(time) | Piece::Before(time) => *time = means.next().unwrap_or(*time),
        }
    }
    Item::Loop { rounds: rounds as u64, index, items: round }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, numbers: &[i128]) -> Item {
        let numbers = numbers.iter().map(|&number| Piece::Number(number.into()));
        Item::Line(std::iter::once(Piece::Text(text.to_owned())).chain(numbers).collect())
    }

    /// The items again, one after another, with their numbers.
    fn unfold(items: &[Item], rounds: &mut Vec<(usize, i128)>) -> Vec<(String, Vec<i128>)> {
        let mut all = Vec::new();
        for item in items {
            match item {
                Item::Line(pieces) => {
                    let mut out = (String::new(), Vec::new());
                    for piece in pieces {
                        match piece {
                            Piece::Text(text) => out.0.push_str(text),
                            Piece::Number(Linear { base, growth, .. }) => {
                                let of = |(index, step): &(usize, i128)| {
                                    rounds
                                        .iter()
                                        .find(|(known, _)| known == index)
                                        .map_or(0, |(_, round)| round * step)
                                };
                                out.1.push(base + growth.iter().map(of).sum::<i128>());
                            }
                            Piece::Time(_) | Piece::Before(_) => {}
                        }
                    }
                    all.push(out);
                }
                Item::Loop { rounds: count, index, items } => {
                    for round in 0..*count {
                        rounds.push((index.unwrap_or(0), round.into()));
                        all.extend(unfold(items, rounds));
                        rounds.pop();
                    }
                }
            }
        }
        all
    }

    #[test]
    fn a_loop_of_loops_is_found_and_means_the_same() {
        let mut items = vec![line("begin", &[])];
        for outer in 0..20 {
            items.push(line("outer", &[outer]));
            for inner in 0..7 {
                items.push(line("inner", &[3 * inner + 100 * outer, 5]));
            }
        }
        items.push(line("end", &[]));
        let before = unfold(&items, &mut Vec::new());
        let folded = fold(items);
        assert_eq!(folded.len(), 3, "{folded:?}");
        assert_eq!(unfold(&folded, &mut Vec::new()), before);
    }

    #[test]
    fn times_become_their_mean() {
        let timed = |time| Item::Line(vec![Piece::Text("work".to_owned()), Piece::Time(time)]);
        let folded = fold(vec![timed(1.0), timed(2.0), timed(6.0)]);
        let expected = Item::Loop { rounds: 3, index: None, items: vec![timed(3.0)] };
        assert_eq!(folded, [expected]);
    }

    #[test]
    fn two_rounds_with_other_numbers_are_no_loop() {
        let items = vec![line("a", &[1]), line("a", &[2]), line("b", &[]), line("c", &[])];
        assert_eq!(fold(items.clone()), items);
    }

    #[test]
    fn random_lines_mean_the_same_when_folded() {
        let mut seed = 1_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..200 {
            let length = 2 + random(40);
            let texts = ["a", "b"];
            let items: Vec<Item> =
                (0..length).map(|_| line(texts[random(2) as usize], &[random(3).into()])).collect();
            let before = unfold(&items, &mut Vec::new());
            assert_eq!(unfold(&fold(items), &mut Vec::new()), before);
        }
    }
}
