//! The state of one channel's banks: the open row, and the first cycle at which each command is allowed.

use super::timing::Timing;

/// A command to a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Closes the row.
    Precharge,
    /// Reads a burst from the open row.
    Read,
    /// Writes a burst to the open row.
    Write,
}

impl Command {
    /// Whether it moves data.
    #[inline]
    pub const fn is_column(self) -> bool {
        matches!(self, Command::Read | Command::Write)
    }
}

/// A bank: its row, and the first cycle of each command as far as the bank alone decides.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    group: usize,
    open: Option<u64>,
    activate: u64,
    precharge: u64,
    read: u64,
    write: u64,
}

/// Banks, and groups, of a channel at most: a set of them is a word. Tables of this size need no check of an index below it.
const MOST: usize = 64;

/// The command that a bank's access needs next.
#[derive(Clone, Copy, Debug)]
struct Want {
    /// First cycle as far as the bank decides, and which of the shared ones holds besides.
    own: u64,
    shared: u8,
    write: bool,
    command: Command,
    row: u64,
    /// Place of the access in the order of arrival.
    order: u64,
}

/// State that the banks share: the first cycle of a command to the banks of each group, for each of the four commands.
#[derive(Clone, Debug)]
struct Shared {
    first: Box<[u64; 4 * MOST]>,
    /// Groups of a pseudo channel, which has its own data bus.
    groups: usize,
    /// For the last four activates of each pseudo channel, the oldest first, the cycle in which the window of time behind it ends.
    activates: Vec<[u64; 4]>,
}

impl Shared {
    /// Index of the first cycle of a command to a bank of this group.
    #[inline]
    fn place(command: Command, group: usize) -> u8 {
        let kind = match command {
            Command::Activate => 3 * MOST,
            Command::Precharge => 0,
            Command::Read => MOST,
            Command::Write => 2 * MOST,
        };
        (kind + group % MOST) as u8
    }

    /// Forbids a command to all banks of the pseudo channel of a group before `cycle`.
    #[inline]
    fn hold(&mut self, command: Command, group: usize, cycle: u64) {
        let from = Self::place(command, group - group % self.groups) as usize;
        for first in &mut self.first[from..from + self.groups] {
            *first = cycle.max(*first);
        }
    }

    /// Forbids a command to the banks of a group before `cycle`.
    #[inline]
    fn hold_group(&mut self, command: Command, group: usize, cycle: u64) {
        let first = &mut self.first[Self::place(command, group) as usize];
        *first = cycle.max(*first);
    }
}

/// The banks of a channel and their common state.
#[derive(Clone, Debug)]
pub struct Banks {
    timing: Timing,
    banks: Vec<Bank>,
    wants: Box<[Want; MOST]>,
    shared: Shared,
    /// Banks that want a column command.
    columns: u64,
}

impl Banks {
    /// All banks closed.
    pub fn new(timing: Timing) -> Self {
        let banks =
            (0..timing.banks).map(|bank| Bank { group: timing.group(bank) as usize, ..Bank::default() });
        let command = Command::Activate;
        let shared = Shared::place(command, 0);
        let want = Want { own: 0, shared, write: false, command, row: 0, order: 0 };
        let channels = timing.pseudo_channels as usize;
        let shared = Shared {
            first: Box::new([0; 4 * MOST]),
            groups: timing.groups as usize / channels,
            activates: vec![[0; 4]; channels],
        };
        Banks { timing, banks: banks.collect(), wants: Box::new([want; MOST]), shared, columns: 0 }
    }

    /// The open row of a bank.
    #[inline]
    pub fn open_row(&self, bank: usize) -> Option<u64> {
        self.banks[bank].open
    }

    /// Sets the access for which a bank issues its next command: its row, whether it writes, and its position in the order of
    /// arrival.
    #[inline]
    pub fn want(&mut self, bank: usize, row: u64, write: bool, order: u64) {
        let state = &self.banks[bank];
        let (command, own) = match state.open {
            Some(open) if open != row => (Command::Precharge, state.precharge),
            Some(_) if write => (Command::Write, state.write),
            Some(_) => (Command::Read, state.read),
            None => (Command::Activate, state.activate),
        };
        let shared = Shared::place(command, state.group);
        self.columns = self.columns & !(1 << bank) | u64::from(command.is_column()) << bank;
        self.wants[bank % MOST] = Want { own, shared, write, command, row, order };
    }

    /// The command that a bank's access needs.
    #[inline]
    pub fn command(&self, bank: usize) -> Command {
        self.wants[bank % MOST].command
    }

    /// The place of that access in the order of arrival.
    #[inline]
    pub fn order(&self, bank: usize) -> u64 {
        self.wants[bank % MOST].order
    }

    /// The first cycle at which that command is allowed.
    #[inline]
    pub fn allowed(&self, bank: usize) -> u64 {
        let want = &self.wants[bank % MOST];
        want.own.max(self.shared.first[want.shared as usize])
    }

    /// The banks whose accesses need column commands, a bit each.
    #[inline]
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Issues the command that a bank's access needs. For a column command the result is the cycle after its last data.
    pub fn issue(&mut self, bank: usize, cycle: u64) -> u64 {
        let Want { row, write, command, order, .. } = self.wants[bank % MOST];
        let Banks { timing: t, banks, shared, .. } = self;
        let state = &mut banks[bank];
        let group = state.group;
        let mut end = cycle;
        match command {
            Command::Activate => {
                state.open = Some(row);
                state.read = cycle + t.tRCD;
                state.write = cycle + t.tRCDWR;
                state.precharge = cycle + t.tRAS;
                state.activate = cycle + t.tRC;
                shared.hold(Command::Activate, group, cycle + t.tRRD);
                shared.hold_group(Command::Activate, group, cycle + t.tRRDL);
                if t.tFAW > 0 {
                    let last = &mut shared.activates[group / shared.groups];
                    last.rotate_left(1);
                    last[3] = cycle + t.tFAW;
                    let fifth = last[0];
                    shared.hold(Command::Activate, group, fifth);
                }
            }
            Command::Precharge => {
                state.open = None;
                state.activate = state.activate.max(cycle + t.tRP);
            }
            Command::Read => {
                end += t.tCL + t.burst_cycles;
                state.precharge = state.precharge.max(cycle + t.tRTP);
                // The bus turns round: write data must not meet read data.
                let writes = (cycle + t.tCCD).max((end + 2).saturating_sub(t.tWL));
                shared.hold(Command::Read, group, cycle + t.tCCD);
                shared.hold(Command::Write, group, writes);
                shared.hold_group(Command::Precharge, group, cycle + t.tRTPL);
            }
            Command::Write => {
                end += t.tWL + t.burst_cycles;
                state.precharge = state.precharge.max(end + t.tWR);
                shared.hold(Command::Read, group, (cycle + t.tCCD).max(end + t.tCDLR));
                shared.hold(Command::Write, group, cycle + t.tCCD);
                shared.hold_group(Command::Read, group, end + t.tWTRL);
            }
        }
        if command.is_column() {
            shared.hold_group(Command::Read, group, cycle + t.tCCDL);
            shared.hold_group(Command::Write, group, cycle + t.tCCDL);
        }
        self.want(bank, row, write, order);
        end
    }

    /// The first cycle in which a bank's row can be closed.
    #[inline]
    fn closable_at(&self, bank: &Bank) -> u64 {
        bank.precharge.max(self.shared.first[Shared::place(Command::Precharge, bank.group) as usize])
    }

    /// The first cycle in which all open rows of a set of banks can be closed at once.
    pub fn closable(&self, set: u64) -> u64 {
        let members = self.banks.iter().enumerate().filter(|(number, _)| set >> number & 1 != 0);
        let open = members.filter(|(_, bank)| bank.open.is_some());
        open.map(|(_, bank)| self.closable_at(bank)).max().unwrap_or(0)
    }

    /// Closes the row of a bank at this cycle, or as soon as it can be closed, without a command. The access that the bank is to
    /// bring forward has to be set anew.
    pub fn close(&mut self, bank: usize, cycle: u64) {
        let closed = cycle.max(self.closable_at(&self.banks[bank])) + self.timing.tRP;
        let bank = &mut self.banks[bank];
        (bank.open, bank.activate) = (None, bank.activate.max(closed));
    }

    /// Closes the rows of a set of banks and refreshes them: the refresh begins when the last of them is at rest, and holds them
    /// for `duration`.
    pub fn refresh(&mut self, set: u64, cycle: u64, duration: u64) {
        let precharge = self.timing.tRP;
        let members: Vec<usize> = (0..self.banks.len()).filter(|number| set >> number & 1 != 0).collect();
        let rest = members.iter().map(|&number| {
            let bank = &self.banks[number];
            bank.activate.max(cycle + if bank.open.is_some() { precharge } else { 0 })
        });
        let end = rest.max().unwrap_or(cycle) + duration;
        for number in members {
            let bank = &mut self.banks[number];
            (bank.open, bank.activate) = (None, end);
            let Want { row, write, order, .. } = self.wants[number % MOST];
            self.want(number, row, write, order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::families;
    use counterpoint_framework::testing::params;

    fn banks(text: &str) -> Banks {
        Banks::new(Timing::new(&params(&families(), text)).unwrap())
    }

    fn next(banks: &mut Banks, bank: usize, row: u64, write: bool) -> (Command, u64) {
        banks.want(bank, row, write, 0);
        (banks.command(bank), banks.allowed(bank))
    }

    /// Issues what an access needs, which must be this command.
    fn issue(banks: &mut Banks, command: Command, bank: usize, row: u64, cycle: u64) -> u64 {
        assert_eq!(next(banks, bank, row, command == Command::Write).0, command);
        banks.issue(bank, cycle)
    }

    #[test]
    fn each_command_is_blocked_one_cycle_earlier() {
        let banks = &mut banks("{}");
        assert_eq!(next(banks, 0, 5, false), (Command::Activate, 0));
        issue(banks, Command::Activate, 0, 5, 0);
        assert_eq!(next(banks, 0, 5, false), (Command::Read, 12), "tRCD");
        assert_eq!(next(banks, 0, 5, true), (Command::Write, 7), "tRCDWR");
        assert_eq!(next(banks, 1, 5, false), (Command::Activate, 6), "tRRD");
        assert_eq!(next(banks, 0, 6, false), (Command::Precharge, 28), "tRAS");
        assert_eq!(issue(banks, Command::Read, 0, 5, 12), 12 + 12 + 2, "tCL and the burst");
        assert_eq!(next(banks, 0, 5, false), (Command::Read, 15), "tCCDL");
        assert_eq!(next(banks, 0, 5, true), (Command::Write, 12 + 12 + 2 + 2 - 4), "bus turn-round");
        assert_eq!(issue(banks, Command::Write, 0, 5, 30), 36, "tWL and the burst");
        assert_eq!(next(banks, 0, 5, false), (Command::Read, 41), "tCDLR");
        assert_eq!(next(banks, 0, 6, false), (Command::Precharge, 48), "tWR");
        issue(banks, Command::Precharge, 0, 6, 48);
        assert_eq!(next(banks, 0, 6, false), (Command::Activate, 60), "tRP");
    }

    #[test]
    fn a_bank_opens_no_row_before_its_time() {
        let banks = &mut banks("{ tRC: 50 }");
        issue(banks, Command::Activate, 0, 5, 0);
        issue(banks, Command::Precharge, 0, 6, 28);
        assert_eq!(next(banks, 0, 6, false), (Command::Activate, 50), "tRC, more than tRAS + tRP here");
    }

    #[test]
    fn a_group_holds_its_columns_longer_and_its_rows_after_a_read() {
        let banks = &mut banks("{ tRRD: 1, tRTP: 2, tRTPL: 9 }");
        for bank in [0, 1, 4] {
            issue(banks, Command::Activate, bank, 5, bank as u64);
        }
        issue(banks, Command::Read, 0, 5, 40);
        assert_eq!(next(banks, 1, 5, false), (Command::Read, 43), "tCCDL, the same group");
        assert_eq!(next(banks, 4, 5, false), (Command::Read, 42), "tCCD, another group");
        assert_eq!(next(banks, 1, 6, false), (Command::Precharge, 49), "tRTPL, the same group");
        assert_eq!(next(banks, 4, 6, false), (Command::Precharge, 4 + 28), "tRAS, another group");
    }

    #[test]
    fn a_read_holds_its_row() {
        let banks = &mut banks("{ tRTP: 30, tRTPL: 0 }");
        issue(banks, Command::Activate, 0, 5, 0);
        issue(banks, Command::Read, 0, 5, 12);
        assert_eq!(next(banks, 0, 6, false), (Command::Precharge, 42), "tRTP");
    }

    #[test]
    fn a_refresh_waits_for_the_rows_and_holds_all_banks() {
        let banks = &mut banks("{ standard: hbm2 }");
        assert_eq!(banks.closable(u64::MAX), 0);
        issue(banks, Command::Activate, 3, 5, 100);
        assert_eq!(banks.closable(u64::MAX), 133, "tRAS");
        issue(banks, Command::Write, 3, 5, 140);
        assert_eq!(banks.closable(u64::MAX), 140 + 2 + 1 + 12, "tWL, the burst and tWR");
        banks.refresh(u64::MAX, 155, 260);
        for bank in [0, 3] {
            assert_eq!(next(banks, bank, 5, false), (Command::Activate, 155 + 14 + 260), "tRP and tRFC");
        }
    }
}
