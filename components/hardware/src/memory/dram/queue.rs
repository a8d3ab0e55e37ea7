//! The queued accesses of a channel: a list for each bank, in the order of arrival.

use counterpoint_protocols::memory::Label;

/// No access.
const NONE: u32 = u32::MAX;

/// An access to columns of one row.
#[derive(Clone, Debug)]
pub struct QueuedAccess {
    /// The bank.
    pub bank: usize,
    /// The row.
    pub row: u64,
    /// Whether the access writes.
    pub write: bool,
    /// On whose behalf.
    pub label: Label,
    /// Position in the order of arrival at the channel, from 0.
    pub arrival: u64,
    /// The cycle in which it was queued.
    pub since: u64,
    /// Column commands that it still needs.
    pub(super) columns: u64,
    /// Whether it has had a command.
    pub(super) begun: bool,
    /// The owner's name for the access.
    pub(super) payload: u32,
    number: u32,
    /// Neighbours in the bank's queue.
    older: u32,
    younger: u32,
}

impl QueuedAccess {
    /// An access with these needs that is not queued yet.
    pub(super) fn new(bank: usize, row: u64, write: bool, label: Label, columns: u64, payload: u32) -> Self {
        QueuedAccess {
            bank,
            row,
            write,
            label,
            arrival: 0,
            since: 0,
            columns,
            begun: false,
            payload,
            number: NONE,
            older: NONE,
            younger: NONE,
        }
    }

    /// The number by which [`Queues`] knows the access.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }
}

/// The queued accesses of one bank, and its open row.
#[derive(Clone, Copy)]
pub struct BankQueue<'q> {
    accesses: &'q [QueuedAccess],
    oldest: u32,
    bank: usize,
    open_row: Option<u64>,
}

impl<'q> BankQueue<'q> {
    /// The number of the bank.
    #[inline]
    pub fn bank(&self) -> usize {
        self.bank
    }

    /// The row that is open.
    #[inline]
    pub fn open_row(&self) -> Option<u64> {
        self.open_row
    }

    /// The access that arrived first.
    #[inline]
    pub fn oldest(&self) -> Option<&'q QueuedAccess> {
        self.accesses.get(self.oldest as usize)
    }

    /// The oldest access to the open row.
    #[inline]
    pub fn oldest_hit(&self) -> Option<&'q QueuedAccess> {
        let open = self.open_row?;
        self.iter().find(|access| access.row == open)
    }

    /// All accesses, the oldest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'q QueuedAccess> + use<'q> {
        let accesses = self.accesses;
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let access = accesses.get(next as usize)?;
            next = access.younger;
            Some(access)
        })
    }
}

/// The ends of a bank's queue.
#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    youngest: u32,
}

/// The queues of all banks of a channel.
pub(super) struct Queues {
    accesses: Vec<QueuedAccess>,
    free: Vec<u32>,
    banks: Vec<Ends>,
    arrivals: u64,
}

impl Queues {
    /// An empty queue for each bank.
    pub(super) fn new(banks: u32) -> Self {
        let empty = Ends { oldest: NONE, youngest: NONE };
        Queues { accesses: Vec::new(), free: Vec::new(), banks: vec![empty; banks as usize], arrivals: 0 }
    }

    /// Accesses that are queued.
    pub(super) fn len(&self) -> usize {
        self.accesses.len() - self.free.len()
    }

    /// Whether a bank has no queued access.
    #[inline]
    pub(super) fn is_empty(&self, bank: usize) -> bool {
        self.banks[bank].oldest == NONE
    }

    /// The queue of a bank in which this row is open.
    #[inline]
    pub(super) fn of(&self, bank: usize, open_row: Option<u64>) -> BankQueue<'_> {
        BankQueue { accesses: &self.accesses, oldest: self.banks[bank].oldest, bank, open_row }
    }

    /// An access.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &QueuedAccess {
        &self.accesses[number as usize]
    }

    /// An access, to note its progress.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut QueuedAccess {
        &mut self.accesses[number as usize]
    }

    /// Adds an access at the end of its bank's queue. Returns its number.
    pub(super) fn push(&mut self, cycle: u64, mut access: QueuedAccess) -> u32 {
        let ends = &mut self.banks[access.bank];
        access.arrival = self.arrivals;
        access.since = cycle;
        access.older = ends.youngest;
        self.arrivals += 1;
        let number = self.free.pop().unwrap_or(self.accesses.len() as u32);
        access.number = number;
        match ends.youngest {
            NONE => ends.oldest = number,
            older => self.accesses[older as usize].younger = number,
        }
        ends.youngest = number;
        match self.accesses.get_mut(number as usize) {
            Some(place) => *place = access,
            None => self.accesses.push(access),
        }
        number
    }

    /// Takes an access out of its bank's queue. Its fields stay readable until the next access is queued.
    pub(super) fn remove(&mut self, number: u32) {
        let QueuedAccess { bank, older, younger, .. } = self.accesses[number as usize];
        let ends = &mut self.banks[bank];
        match older {
            NONE => ends.oldest = younger,
            older => self.accesses[older as usize].younger = younger,
        }
        match younger {
            NONE => ends.youngest = older,
            younger => self.accesses[younger as usize].older = older,
        }
        self.free.push(number);
    }
}
