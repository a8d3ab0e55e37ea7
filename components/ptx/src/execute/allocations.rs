//! Device memory by name: the ranges that a kernel may touch, and messages for addresses that it may not.

use std::ops::Range;

/// The rights of a kernel to a piece of device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rights {
    /// Read and write it, as a buffer.
    #[default]
    All,
    /// Read it, as constants.
    Read,
    /// No rights: code is only fetched.
    None,
}

impl Rights {
    /// Whether a kernel may read it, or write it if it `stores`.
    pub(crate) fn allow(self, stores: bool) -> bool {
        match self {
            Rights::All => true,
            Rights::Read => !stores,
            Rights::None => false,
        }
    }
}

/// A piece of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Name of the allocation, given by its owner.
    pub name: String,
    /// Addresses of the piece.
    pub range: Range<u64>,
    /// If it has been freed, after how many launches.
    pub freed_after: Option<u32>,
    /// The kernel's rights to it.
    pub rights: Rights,
}

/// The allocations of a device, those that were freed included.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    all: Vec<Allocation>,
    /// Allocations that exist now, in the order of their addresses.
    live: Vec<(Range<u64>, Rights)>,
}

impl FromIterator<Allocation> for Allocations {
    fn from_iter<T: IntoIterator<Item = Allocation>>(all: T) -> Self {
        let all: Vec<Allocation> = all.into_iter().collect();
        let usable = |it: &&Allocation| it.freed_after.is_none() && !it.range.is_empty();
        let mut live: Vec<_> = all.iter().filter(usable).map(|it| (it.range.clone(), it.rights)).collect();
        live.sort_by_key(|(range, _)| range.start);
        Allocations { all, live }
    }
}

impl Allocations {
    /// Whether these bytes are within one allocation that a kernel may read, or write if it `stores`.
    #[inline]
    pub fn allow(&self, address: u64, bytes: u64, stores: bool) -> bool {
        self.position(address).is_some_and(|place| {
            let (range, rights) = &self.live[place];
            address.saturating_add(bytes) <= range.end && rights.allow(stores)
        })
    }

    /// Whether the last allocation that begins at or below either address is the same one.
    #[inline]
    pub fn same(&self, a: u64, b: u64) -> bool {
        self.position(a) == self.position(b)
    }

    /// The addresses of the allocation that contains an address.
    pub fn containing(&self, address: u64) -> Option<Range<u64>> {
        let (range, _) = &self.live[self.position(address)?];
        range.contains(&address).then(|| range.clone())
    }

    /// The addresses that may be touched and how, in their order.
    pub fn live(&self) -> impl Iterator<Item = (Range<u64>, Rights)> {
        self.live.iter().cloned()
    }

    /// Freed allocations.
    pub fn freed(&self) -> impl Iterator<Item = &Allocation> {
        self.all.iter().filter(|it| it.freed_after.is_some())
    }

    fn position(&self, address: u64) -> Option<usize> {
        self.live.partition_point(|(range, _)| range.start <= address).checked_sub(1)
    }

    /// The name of the allocation that contains an address, for messages.
    pub fn name_of(&self, address: u64) -> String {
        let found = self.all.iter().find(|it| it.freed_after.is_none() && it.range.contains(&address));
        found.map_or_else(
            || "device memory".to_owned(),
            |it| format!("`{}` ({})", it.name, bytes_of(it.range.end - it.range.start)),
        )
    }

    /// Location of bytes that a kernel may not access so, in words: beside the nearest allocation, by name, or in an
    /// allocation that was freed or that a kernel may not access.
    pub fn locate(&self, address: u64, bytes: u64) -> String {
        let holds = |it: &&Allocation| it.range.contains(&address);
        if let Some(Allocation { name, freed_after: Some(launches), .. }) = self.all.iter().find(holds) {
            return match launches {
                0 => format!("in `{name}`, which was freed before the first launch"),
                _ => format!("in `{name}`, which was freed after launch {launches}"),
            };
        }
        let within = |it: &&Allocation| holds(it) && address.saturating_add(bytes) <= it.range.end;
        if let Some(Allocation { name, rights, .. }) = self.all.iter().find(within) {
            return match rights {
                Rights::None => format!("in `{name}`, which kernels cannot touch"),
                _ => format!("in `{name}`, which kernels can only read"),
            };
        }
        let distance = |it: &&Allocation| match address < it.range.start {
            true => it.range.start - address,
            false => address - it.range.end.min(address),
        };
        let usable = self.all.iter().filter(|it| it.freed_after.is_none() && !it.range.is_empty());
        let Some(Allocation { name, range, .. }) = usable.min_by_key(distance) else {
            return "outside of every buffer: none lies on this device".to_owned();
        };
        let size = bytes_of(range.end - range.start);
        let place = if address < range.start {
            format!("{} before the start of", bytes_of(range.start - address))
        } else if address < range.end {
            let beyond = address.saturating_add(bytes) - range.end;
            format!("{} of them past the end of", bytes_of(beyond))
        } else if address == range.end {
            "right behind the end of".to_owned()
        } else {
            format!("{} past the end of", bytes_of(address - range.end))
        };
        format!("outside of every buffer: {place} `{name}` ({size})")
    }
}

/// A number of bytes in words.
pub(crate) fn bytes_of(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Allocations {
        let piece = |name: &str, range, freed_after| Allocation {
            name: name.into(),
            range,
            freed_after,
            rights: Rights::All,
        };
        let all =
            [piece("a", 1000..1100, None), piece("b", 2000..2004, Some(2)), piece("c", 3000..3001, None)];
        all.into_iter().collect()
    }

    #[test]
    fn bytes_are_held_by_one_live_allocation() {
        let memory = three();
        assert!(memory.allow(1000, 100, true) && memory.allow(3000, 1, false));
        for (address, bytes) in [(999, 1), (1099, 2), (1100, 1), (2000, 1), (3001, 1), (0, 1), (u64::MAX, 4)]
        {
            assert!(!memory.allow(address, bytes, false), "{address}");
        }
        assert!(memory.same(1000, 1099) && !memory.same(1000, 3000));
    }

    #[test]
    fn rights_tell_reading_from_writing() {
        let piece =
            |name: &str, range, rights| Allocation { name: name.into(), range, freed_after: None, rights };
        let all =
            [piece("constants of c", 1000..1100, Rights::Read), piece("code of k", 2000..2100, Rights::None)];
        let memory: Allocations = all.into_iter().collect();
        assert!(
            memory.allow(1096, 4, false) && !memory.allow(1096, 4, true) && !memory.allow(2000, 8, false)
        );
        assert_eq!(memory.locate(1096, 4), "in `constants of c`, which kernels can only read");
        assert_eq!(memory.locate(2000, 8), "in `code of k`, which kernels cannot touch");
        assert_eq!(
            memory.locate(1098, 4),
            "outside of every buffer: 2 bytes of them past the end of `constants of c` (100 bytes)"
        );
    }

    #[test]
    fn an_address_is_told_by_its_nearest_neighbour() {
        let memory = three();
        let cases = [
            (996, 4, "4 bytes before the start of `a` (100 bytes)"),
            (1098, 4, "2 bytes of them past the end of `a` (100 bytes)"),
            (1100, 4, "right behind the end of `a` (100 bytes)"),
            (1101, 4, "1 byte past the end of `a` (100 bytes)"),
            (2990, 4, "10 bytes before the start of `c` (1 byte)"),
            (2051, 4, "949 bytes before the start of `c` (1 byte)"),
            (2049, 4, "949 bytes past the end of `a` (100 bytes)"),
        ];
        for (address, bytes, place) in cases {
            assert_eq!(
                memory.locate(address, bytes),
                format!("outside of every buffer: {place}"),
                "{address}"
            );
        }
        assert_eq!(memory.locate(2003, 4), "in `b`, which was freed after launch 2");
        assert!(Allocations::default().locate(0, 1).contains("none lies on this device"));
    }
}
