//! First states of sequences: a generator's step is a linear map, so that powers of it jump.

/// A state as kernels have it.
pub(super) type Words = [u32; 6];

/// Steps between sequences, as a power of two: of XORWOW, and of MRG32k3a.
const XORWOW_JUMP: u32 = 67;
const MRG_JUMP: u32 = 76;

/// The states of sequences from the first one wanted to a last one. The sequences before `ahead` are a step further.
pub(super) fn xorwow(seed: u64, offset: u64, sequences: u64, wanted: std::ops::Range<u64>) -> Vec<Words> {
    let (steps, ahead) = (offset / sequences, offset % sequences);
    let (low, high) = (seed as u32 ^ 0xaad2_6b49, (seed >> 32) as u32 ^ 0xf7dc_efdd);
    let (low, high) = (low.wrapping_mul(1_099_087_573), high.wrapping_mul(2_591_861_531));
    let counter = 6_615_241u32.wrapping_add(low).wrapping_add(high);
    let first = [
        123_456_789u32.wrapping_add(low),
        362_436_069 ^ low,
        521_288_629u32.wrapping_add(high),
        88_675_123 ^ high,
        5_783_321u32.wrapping_add(low),
    ];
    let step = Bits::of_step();
    let jump = step.power_of_two(XORWOW_JUMP);
    let start = jump.jump(step.jump(first, steps), wanted.start);
    let each = std::iter::successors(Some(start), |state| Some(jump.apply(*state)));
    let state = |(number, state): (u64, [u32; 5])| {
        let (state, more) = if number < ahead { (step.apply(state), 1) } else { (state, 0) };
        let [a, b, c, d, e] = state;
        [a, b, c, d, e, counter.wrapping_add(362_437u32.wrapping_mul(steps.wrapping_add(more) as u32))]
    };
    wanted.zip(each).map(state).collect()
}

/// As [`xorwow`], of MRG32k3a.
pub(super) fn mrg(seed: u64, offset: u64, sequences: u64, wanted: std::ops::Range<u64>) -> Vec<Words> {
    let (steps, ahead) = (offset / sequences, offset % sequences);
    let factors = [seed as u32 ^ 0x5555_5555, (seed >> 32) as u32 ^ 0xaaaa_aaaa].map(u64::from);
    let factor = |index: usize| if seed == 0 { 1 } else { factors[index] };
    let part = |map: Modular, order: [usize; 3]| {
        let jump = map.power_of_two(MRG_JUMP);
        let first = order.map(|index| factor(index) * 12345 % map.modulus);
        let start = jump.jump(map.jump(first, steps), wanted.start);
        let each = std::iter::successors(Some(start), move |state| Some(jump.apply(*state)));
        let each = wanted.clone().zip(each);
        each.map(move |(number, state)| if number < ahead { map.apply(state) } else { state })
    };
    let first = Modular { rows: [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]], modulus: M1 };
    let second = Modular { rows: [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]], modulus: M2 };
    let both = part(first, [0, 1, 0]).zip(part(second, [1, 0, 1]));
    both.map(|([a, b, c], [d, e, f])| [a, b, c, d, e, f].map(|word| word as u32)).collect()
}

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

/// A map of 160 bits: what each bit alone becomes.
#[derive(Clone)]
struct Bits(Vec<[u32; 5]>);

impl Bits {
    fn of_step() -> Self {
        let image = |bit: usize| {
            let mut v = [0u32; 5];
            v[bit / 32] = 1 << (bit % 32);
            let t = v[0] ^ v[0] >> 2;
            [v[1], v[2], v[3], v[4], (v[4] ^ v[4] << 4) ^ (t ^ t << 1)]
        };
        Bits((0..160).map(image).collect())
    }

    fn apply(&self, state: [u32; 5]) -> [u32; 5] {
        let mut to = [0; 5];
        for (bit, image) in self.0.iter().enumerate() {
            if state[bit / 32] >> (bit % 32) & 1 != 0 {
                to.iter_mut().zip(image).for_each(|(to, word)| *to ^= word);
            }
        }
        to
    }

    fn squared(&self) -> Self {
        Bits(self.0.iter().map(|image| self.apply(*image)).collect())
    }

    fn power_of_two(&self, power: u32) -> Self {
        (0..power).fold(self.clone(), |map, _| map.squared())
    }

    /// A state that many maps further.
    fn jump(&self, mut state: [u32; 5], mut count: u64) -> [u32; 5] {
        let mut map = self.clone();
        while count > 0 {
            if count & 1 != 0 {
                state = map.apply(state);
            }
            count >>= 1;
            if count > 0 {
                map = map.squared();
            }
        }
        state
    }
}

/// A map of three numbers by a modulus.
#[derive(Clone, Copy)]
struct Modular {
    rows: [[u64; 3]; 3],
    modulus: u64,
}

impl Modular {
    fn apply(&self, state: [u64; 3]) -> [u64; 3] {
        let product = |row: [u64; 3]| {
            row.iter().zip(state).fold(0, |sum, (a, b)| (sum + a * b % self.modulus) % self.modulus)
        };
        self.rows.map(product)
    }

    fn squared(&self) -> Self {
        let column = |index: usize| self.apply([0, 1, 2].map(|row| self.rows[row][index]));
        let columns = [0, 1, 2].map(column);
        Modular { rows: [0, 1, 2].map(|row| columns.map(|column| column[row])), ..*self }
    }

    fn power_of_two(&self, power: u32) -> Self {
        (0..power).fold(*self, |map, _| map.squared())
    }

    fn jump(&self, mut state: [u64; 3], mut count: u64) -> [u64; 3] {
        let mut map = *self;
        while count > 0 {
            if count & 1 != 0 {
                state = map.apply(state);
            }
            count >>= 1;
            map = map.squared();
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_as_many_steps() {
        let step = Bits::of_step();
        let walked = |state: [u32; 5], count: u32| (0..count).fold(state, |state, _| step.apply(state));
        assert_eq!(step.jump([1, 2, 3, 4, 5], 77), walked([1, 2, 3, 4, 5], 77));
        assert_eq!(step.power_of_two(5).apply([1, 2, 3, 4, 5]), walked([1, 2, 3, 4, 5], 32));
        let map = Modular { rows: [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]], modulus: M1 };
        let walked = (0..77).fold([12345; 3], |state, _| map.apply(state));
        assert_eq!(map.jump([12345; 3], 77), walked);
    }

    #[test]
    fn parts_of_all_sequences_are_the_same_states() {
        for states in [xorwow, mrg] {
            let all = states(1234, 10, 8, 0..8);
            assert_eq!(states(1234, 10, 8, 3..8), all[3..]);
            assert_ne!(all[1], states(1234, 8, 8, 1..2)[0], "a sequence before the offset is a step further");
            assert_eq!(all[2], states(1234, 8, 8, 2..3)[0]);
        }
    }
}
